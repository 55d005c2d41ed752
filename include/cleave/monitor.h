/* Constants shared by cleave-monitord and its clients. docs/monitor-protocol.md describes the protocol. */
#ifndef CLEAVE_MONITOR_H_
#define CLEAVE_MONITOR_H_

/* The protocol's version, sent in the greeting. A client that does not support it closes the connection. */
#define CLEAVE_MONITOR_PROTOCOL 1

/* The default address of the daemon. */
#define CLEAVE_MONITOR_SOCKET "/run/cleave/monitor.sock"

/* The default port for TCP and vsock. */
#define CLEAVE_MONITOR_PORT 27460

/* The maximum length of a line, including its newline, in bytes. */
#define CLEAVE_MONITOR_LINE_MAX 128

#endif /* CLEAVE_MONITOR_H_ */
