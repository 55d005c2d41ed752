#include "remote/server/reads.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace cleave::remote::server {
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
  read->number = ++entered_;
  untold_.fetch_add(1, std::memory_order_release);
}

cl_int Reads::status(const Read& read) const { return status_of(cl_, read.event, read.first); }

// One may end while others are asked about, and then one that waited for it before that is asked. So all are
// asked until no more have ended: what ended before something that is seen here is seen in the next round at
// the latest.
Reads::Some Reads::ended(std::uint64_t own_queue) {
  const std::scoped_lock lock(mutex_);
  const auto is_own = [own_queue](const auto& line) {
    return line.first == own_queue && line.second.in_order;
  };
  if (std::all_of(lines_.begin(), lines_.end(), is_own)) return {};
  Some all;
  bool has_others = false;
  for (bool again = true; again;) {
    again = false;
    all.clear();
    for (const auto& line : lines_) {
      for (const std::shared_ptr<Read>& read : line.second.reads) {
        const bool is_news = !read->ended && status(*read) <= CL_COMPLETE;
        again = again || is_news;
        read->ended = read->ended || is_news;
        if (read->ended) all.push_back(read);
        has_others = has_others || (read->ended && !is_own(line));
        if (!read->ended && line.second.in_order) break;  // nor have those behind it
      }
    }
  }
  if (!has_others) return {};
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
  return all;
}

void Reads::tell_ended(std::uint64_t own_queue) {
  if (!any()) return;
  const Some all = ended(own_queue);
  if (all.empty()) return;
  Telling telling(*this);
  EventsFrame frame;
  for (const std::shared_ptr<Read>& read : all) {
    telling.add(*read, frame);
    if (frame.is_full()) outbox_.send(frame);
  }
  if (!frame.empty()) outbox_.send(frame);
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
