/* What cleave-monitord and those who follow it agree on. docs/monitor-protocol.md describes the protocol. */
#ifndef CLEAVE_MONITOR_H_
#define CLEAVE_MONITOR_H_

/* The protocol's version, sent in the greeting. A client that knows only other versions hangs up. */
#define CLEAVE_MONITOR_PROTOCOL 1

/* Where the daemon listens, and clients look, if nobody says otherwise. */
#define CLEAVE_MONITOR_SOCKET "/run/cleave/monitor.sock"

/* The port for TCP and vsock. */
#define CLEAVE_MONITOR_PORT 27460

/* No line of either side is longer, its newline included, in bytes. */
#define CLEAVE_MONITOR_LINE_MAX 128

#endif /* CLEAVE_MONITOR_H_ */
