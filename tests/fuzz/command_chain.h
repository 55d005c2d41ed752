// Buffers whose commands follow one another, whichever queues they are on.
#pragma once

#include <vector>

#include "kernel_arguments.h"

namespace fuzz {

struct QueueSlot {
  Queue handle;
  unsigned context = 0;
  bool out_of_order = false;
};

// The commands of one lane are in order: each waits for the one before, unless the queue sees to that. Lanes
// have nothing to do with each other but that they may share queues, kernels and user events.
class CommandChain {
 public:
  CommandChain(const Platform& platform, unsigned context, Random random, std::size_t items,
               Observations& observations);

  unsigned context() const { return context_; }
  const Buffers& buffers() const { return buffers_; }

  // The wait list of the lane's next command, if that is on `queue`; with `always`, also where the queue sees
  // to it.
  std::vector<cl_event> waits(const QueueSlot& queue, bool always, Observations& observations);
  // What the lane's next command has to wait for. Without an event, `queue` has to be in order.
  void done(const QueueSlot& queue, cl_event event);
  // `queue` is about to be released: what comes next waits for an event.
  void leave(const QueueSlot& queue, Observations& observations);
  // Waits for what is left on a queue that is gone.
  void finish(Observations& observations) const;

 private:
  unsigned context_;
  Buffers buffers_;
  void mark(Observations& observations);

  const QueueSlot* queue_ = nullptr;  // of the last command
  bool left_ = false;                 // that queue is gone
  cl_event last_ = nullptr;           // its event, which others own
  std::vector<Event> markers_;
};

}  // namespace fuzz
