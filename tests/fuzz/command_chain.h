// Buffers whose commands are ordered, whichever queues they are on.
#pragma once

#include <vector>

#include "kernel_arguments.h"

namespace fuzz {

struct QueueSlot {
  Queue handle;
  unsigned context = 0;
  bool out_of_order = false;
};

// The commands of one chain are in order: each waits for the one before, unless the queue guarantees that. Chains are independent
// of each other, but may share queues, kernels and user events.
class CommandChain {
 public:
  CommandChain(const Platform& platform, unsigned context, Random random, std::size_t items,
               Observations& observations);

  unsigned context() const { return context_; }
  const Buffers& buffers() const { return buffers_; }

  // The wait list of the chain's next command, if that is on `queue`; with `always`, also where the queue guarantees the order.
  Waits waits(const QueueSlot& queue, bool always, Observations& observations);
  // The event that the chain's next command has to wait for. Without one, `queue` has to be in order.
  void done(const QueueSlot& queue, cl_event event);
  // `queue` is about to be released: the next command waits for an event.
  void leave(const QueueSlot& queue, Observations& observations);
  // Waits for commands of a released queue.
  void finish(Observations& observations) const;

 private:
  unsigned context_;
  Buffers buffers_;
  void mark(Observations& observations);

  const QueueSlot* queue_ = nullptr;  // of the last command
  bool left_ = false;                 // that queue has been released
  cl_event last_ = nullptr;           // its event, not owned
  std::vector<Event> markers_;
};

}  // namespace fuzz
