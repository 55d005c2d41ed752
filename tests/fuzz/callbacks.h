// Counts event callbacks.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "observations.h"

namespace fuzz {

// The number of callbacks for each state. They may outlive the code that waited for them.
class Callbacks {
 public:
  void ask(cl_event event, cl_int state, Observations& observations) {
    auto* counts = new std::shared_ptr<Counts>(counts_);
    const cl_int status = clSetEventCallback(event, state, come, counts);
    if (status == CL_SUCCESS)
      ++asked_;
    else
      delete counts;
    if (status != CL_SUCCESS) observations.add("callback", status);
  }

  // Waits until all have been called, which happens soon after their commands are complete.
  void add_to(Observations& observations) const {
    if (asked_ == 0) return;
    for (int tries = 0; tries < 5000 && counts_->all < asked_; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    observations.add("callbacks", std::to_string(counts_->all) + "of" + std::to_string(asked_) + ",good" +
                                      std::to_string(counts_->good));
  }

 private:
  struct Counts {
    std::atomic<int> all{0};
    std::atomic<int> good{0};
  };

  static void CL_CALLBACK come(cl_event event, cl_int state, void* data) {
    const std::unique_ptr<std::shared_ptr<Counts>> counts(static_cast<std::shared_ptr<Counts>*>(data));
    cl_int now = 1;
    const cl_int status = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, nullptr);
    // (Some drivers call back for a state slightly before queries report it.)
    if (status == CL_SUCCESS && (state != CL_COMPLETE || now <= CL_COMPLETE)) ++(*counts)->good;
    ++(*counts)->all;
  }

  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  int asked_ = 0;
};

}  // namespace fuzz
