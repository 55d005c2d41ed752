#include "base/files/discard.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <semaphore>
#include <thread>
#include <unistd.h>
#include <utility>

#include <linux/close_range.h>

namespace cleave::base {
namespace {

struct Handover {
  std::binary_semaphore has_copies{0};  // the other thread
  std::binary_semaphore are_closed{0};  // in the caller's table
};

// Closes descriptors so that nothing waits: an exiting thread does not linger (inet_release() and its like in the kernel check
// PF_EXITING), neither for its own sockets nor for those that are in flight in its sockets' queues. So the last of them are closed
// by the exit of a thread that has a table of descriptors of its own. It closes nothing before: a copy of any descriptor may have
// become the last one meanwhile. Throws if there is no thread.
void close_by_exit(std::vector<FileDescriptor>& descriptors) {
  int highest = 0;
  for (const FileDescriptor& each : descriptors) highest = std::max(highest, each.get());
  const auto shared = std::make_shared<Handover>();
  std::thread([shared, highest] {
    ::close_range(static_cast<unsigned>(highest) + 1, ~0U,
                  CLOSE_RANGE_UNSHARE);  // copies only those up to there
    shared->has_copies.release();
    shared->are_closed.acquire();
  }).detach();
  shared->has_copies.acquire();
  descriptors.clear();
  shared->are_closed.release();
}

}  // namespace

void discard(std::vector<FileDescriptor> descriptors) noexcept try {
  std::erase_if(descriptors, [](const FileDescriptor& each) { return !each.is_open(); });
  if (!descriptors.empty()) close_by_exit(descriptors);
} catch (const std::exception&) {  // no thread or no memory: they are closed here
}

void discard(FileDescriptor descriptor) noexcept {
  std::vector<FileDescriptor> one;
  one.push_back(std::move(descriptor));
  discard(std::move(one));
}

}  // namespace cleave::base
