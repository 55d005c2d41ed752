// A broker: takes turns and books memory for one process that may not write to the registry, and enters it there. It runs in a process of
// its own, which that process can neither write to nor signal, and reads nothing from it but messages of fixed size (messages.h).
//
// What limits the other process is decided here, by the settings that the broker has been given: weight, class, cap and memory limit,
// the tenant to charge. Device time is charged by the clock here, from a grant to its return; a holder that should have yielded for a
// second has the device taken from it, whatever it sends meanwhile, and begins anew; one that sends nothing loses it after a lease, as others
// do. Only devices count that were declared before the other process has read anything from a client.
//
// The other process may be stopped, or slow to read. News of a device waits until there is room, of which only the
// newest is sent, and never ends the connection. Its requests are read only while it reads the answers, and at a limited
// rate for each device, those that wake all other participants (joins, leaves) at a lower one: the rest waits in the socket. Changes
// of its weight, which delay all others, are coalesced over some milliseconds.
//
// What the other process reports about itself is not verified: its counters, which it writes into a page that it shares
// with the broker; that it has ended its turn; and how long it left the device idle during a turn, at most the turn's
// length.
//
// Damage to the shared files ends the broker of a process with limits (fails closed); others go on without.
#pragma once

#include <functional>
#include <string>

#include "base/settings/configuration.h"
#include "interpose/broker/figures_page.h"

namespace cleave::interpose {

class Broker {
 public:
  // `channel` leads to the process, which waits for the page that is sent to it here, and then sends its declarations.
  explicit Broker(int channel);

  // Serves until the channel is closed. `configuration` is the other process's. Empty: the channel has ended; else why its limits cannot
  // be kept any more. For one thread, once. `show_life` is called twice a second while it serves.
  std::string run(const base::Configuration& configuration, const std::function<void()>& show_life = nullptr);

 private:
  class State;
  const int channel_;
  FiguresPage page_;
  const bool is_open_;
  State* state_ =
      nullptr;  // never deleted: the threads of the devices never end, and neither does what they use
};

}  // namespace cleave::interpose
