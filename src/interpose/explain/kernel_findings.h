// What in a program keeps its kernels from being split, kept by the name of the kernel until it is reported, when
// kernels and programs are usually gone.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/state/records.h"
#include "observe/explanation.h"
#include "plan/decide.h"

namespace cleave::interpose {

// A finding, and what the user can do about it; empty if nothing but what the reason itself advises.
struct KernelFinding {
  observe::Finding finding;
  std::string advice;

  friend bool operator==(const KernelFinding&, const KernelFinding&) = default;
};

// What keeps a kernel whole, by the reason for which it does.
using FindingsByReason = std::map<plan::UnsplitReason, std::vector<KernelFinding>>;

// The findings for the kernel of that name, whose record was made from its program's. `program` is null if it has no
// record. Takes time linear in the size of the program. May throw std::bad_alloc.
FindingsByReason findings_of(const std::string& name, const KernelRecord& kernel,
                             const ProgramRecord* program);

class KernelFindings {
 public:
  // If not `kept`, nothing is.
  KernelFindings(base::ForkLocks& forks, bool kept) : kept_(kept) {
    forks.add(base::ForkOrder::kernel_findings, mutex_);
  }

  [[nodiscard]] bool kept() const { return kept_; }

  // Adds what is new for this name. Of each reason the first findings are kept, and the first names. May throw
  // std::bad_alloc.
  void add(const std::string& kernel, const FindingsByReason& findings);

  // Empty if there are none, or if none are kept.
  [[nodiscard]] std::vector<KernelFinding> of(const std::string& kernel, plan::UnsplitReason reason) const;

 private:
  static constexpr std::size_t kMaxNames = 4096;
  static constexpr std::size_t kMaxFindings = 4;  // of one kernel for one reason

  const bool kept_;
  mutable base::Mutex mutex_;
  std::map<std::string, FindingsByReason> by_name_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::interpose
