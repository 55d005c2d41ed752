#include "remote/server/reads.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace cleave::remote::server {
namespace {

// So many of an in-order queue are asked about at a time: behind the first that has not ended none has.
constexpr std::size_t kFew = 16;

}  // namespace

Reads::~Reads() {
  {
    const std::scoped_lock lock(tasks_mutex_);
    ending_ = true;
  }
  tasks_changed_.notify_one();
  if (server_.joinable()) server_.join();
}

void Reads::enter(std::uint64_t queue, bool in_order, const std::shared_ptr<Read>& read) {
  const std::scoped_lock lock(mutex_);
  Line& line = lines_[queue];
  line.in_order = in_order;
  line.reads.push_back(read);
  untold_.fetch_add(1, std::memory_order_release);
}

cl_int Reads::status(const Read& read) const {
  cl_int status = CL_COMPLETE;
  const cl_int error = cl_.clGetEventInfo(read.event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                          &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

Reads::Some Reads::candidates(std::uint64_t own_queue) {
  Some some;
  const std::scoped_lock lock(mutex_);
  for (const auto& [queue, line] : lines_) {
    if (line.in_order && queue == own_queue) continue;
    const std::size_t count = line.in_order ? std::min(kFew, line.reads.size()) : line.reads.size();
    some.insert(some.end(), line.reads.begin(), line.reads.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return some;
}

void Reads::tell_ended(std::uint64_t own_queue) {
  while (any()) {
    const Some asked = candidates(own_queue);
    Some ended = asked;
    std::erase_if(ended, [this](const std::shared_ptr<Read>& read) { return status(*read) > CL_COMPLETE; });
    if (ended.empty()) return;
    {
      Telling telling(*this);
      EventsFrame frame;
      for (const std::shared_ptr<Read>& read : ended) telling.add(*read, frame);
      if (!frame.empty()) outbox_.send(frame);
    }
    // There may be more behind them.
    if (asked.size() < kFew) return;
  }
}

void Reads::Telling::add(Read& read, EventsFrame& frame) {
  if (std::exchange(read.told, true)) return;
  const cl_int status = reads_.status(read);
  const bool good = status >= CL_COMPLETE;
  const auto data = good ? std::span<const std::byte>(read.data.bytes()) : std::span<const std::byte>();
  wire::AnswerBuilder answer(frame.builder());
  answer.add_request(read.request);
  answer.add_error(good ? CL_SUCCESS : status);
  answer.add_value(read.at);
  answer.add_more(read.more);
  frame.add(answer.Finish(), data);
  reads_.outbox_.count_ended(0, data.size());
  ++count_;
}

Reads::Telling::~Telling() {
  if (count_ == 0) return;
  told_ = reads_.take_told();
  for (const std::shared_ptr<Read>& read : told_) read->sent.store(true, std::memory_order_release);
  reads_.untold_.fetch_sub(count_, std::memory_order_release);
}

Reads::Some Reads::take_told() {
  Some told;
  const std::scoped_lock lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end();) {
    auto& reads = line->second.reads;
    const auto left = std::stable_partition(reads.begin(), reads.end(),
                                            [](const std::shared_ptr<Read>& read) { return read->told; });
    told.insert(told.end(), std::make_move_iterator(reads.begin()), std::make_move_iterator(left));
    reads.erase(reads.begin(), left);
    line = reads.empty() ? lines_.erase(line) : std::next(line);
  }
  return told;
}

void Reads::apart(std::function<void()> function) {
  {
    const std::scoped_lock lock(tasks_mutex_);
    tasks_.push_back(std::move(function));
    if (!server_.joinable()) server_ = std::thread([this] { serve(); });
  }
  tasks_changed_.notify_one();
}

void Reads::serve() {
  std::unique_lock lock(tasks_mutex_);
  while (true) {
    tasks_changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace cleave::remote::server
