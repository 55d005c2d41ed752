// A command of the program's on a queue of a context over several servers.
//
//   Turn turn({queue, waits, wait_list, event});
//   const cl_mem here = turn.use(buffer, Access::read);
//   return turn.run(blocking, [&](const Waits& w) { return client::clEnqueue...(queue, here, ..., w.count,
//   w.list, w.event); });
//
// The function is called with parts in the place of wholes, and with a wait list that the queue's server
// knows: what it does not know a gate stands for. It must not block; run() does, if the program wants it.
//
// Not thread-safe: each call has its own.
#pragma once

#include <memory>
#include <vector>

#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {

struct Waits {
  cl_uint count;
  const cl_event* list;
  cl_event* event;
};

class Turn {
 public:
  struct Call {
    cl_command_queue queue;
    cl_uint waits;
    const cl_event* wait_list;
    cl_event* event;
  };

  explicit Turn(const Call& call, Entry::Kind kind = Entry::Kind::command);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  cl_int error = CL_SUCCESS;
  [[nodiscard]] std::size_t part() const { return entry_->part; }
  [[nodiscard]] Object& context() const { return *context_; }

  // The object behind the handle, if it is one of the queue's context; else null, and `error` says why.
  WholeMemory* memory(cl_mem handle);
  // Its part here; null like memory(). An access to all of it is one that overwrites where nothing can come
  // between.
  cl_mem use(cl_mem handle, Access access);
  void use(const std::shared_ptr<Contents>& contents, Access access);

  template <typename Enqueue>
  cl_int run(bool blocking, Enqueue enqueue) {
    cl_int result = error;
    cl_event made = nullptr;
    if (result == CL_SUCCESS) result = begin();
    if (result == CL_SUCCESS)
      result = enqueue(Waits{static_cast<cl_uint>(here_.size()), here_.empty() ? nullptr : here_.data(),
                             needs_event(blocking) ? &made : nullptr});
    return end(result, made, blocking);
  }

 private:
  cl_int take_waits();
  cl_int begin();
  cl_int shut(bool open, const Needs& needs);
  cl_int end(cl_int result, cl_event made, bool blocking);
  [[nodiscard]] bool needs_event(bool blocking) const;

  const Call call_;
  Connection* connection_ = nullptr;
  Object* part_context_ = nullptr;
  Object* context_ = nullptr;
  std::shared_ptr<Ordering> ordering_;
  std::shared_ptr<Entry> entry_;
  std::shared_ptr<Gate> gate_;
  std::vector<cl_event> here_;      // the wait list that the server is given
  std::vector<Object*> elsewhere_;  // events that it does not know
  bool begun_ = false;
  bool open_ = false;
};

}  // namespace cleave::remote::client::spread
