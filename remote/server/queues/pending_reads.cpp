#include "remote/server/queues/pending_reads.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace cleave::remote::server {
PendingReads::~PendingReads() {
  {
    const base::MutexLock lock(tasks_mutex_);
    stopping_ = true;
  }
  tasks_changed_.notify_one();
  if (worker_.joinable()) worker_.join();
}

void PendingReads::register_read(std::uint64_t queue, bool in_order,
                                 const std::shared_ptr<PendingRead>& read) {
  const base::MutexLock lock(mutex_);
  QueueReads& queue_reads = queues_[queue];
  queue_reads.in_order = in_order;
  queue_reads.reads.push_back(read);
  read->number = ++registered_;
  unsent_.fetch_add(1, std::memory_order_release);
}

cl_int PendingReads::status(const PendingRead& read) const { return status_of(cl_, read.event, read.first); }

// A read may end after it was queried and before one that waited for it is queried. So all are queried until no more have
// ended: what ended before a read that was seen to have ended is seen in the next round at the latest.
PendingReads::ReadList PendingReads::ended(std::uint64_t own_queue) {
  const base::MutexLock lock(mutex_);
  const auto is_own = [own_queue](const auto& queue_reads) {
    return queue_reads.first == own_queue && queue_reads.second.in_order;
  };
  if (std::all_of(queues_.begin(), queues_.end(), is_own)) return {};
  ReadList all;
  bool has_foreign = false;
  for (bool again = true; again;) {
    again = false;
    all.clear();
    for (const auto& queue_reads : queues_) {
      for (const std::shared_ptr<PendingRead>& read : queue_reads.second.reads) {
        const bool just_ended = !read->ended && status(*read) <= CL_COMPLETE;
        again = again || just_ended;
        read->ended = read->ended || just_ended;
        if (read->ended) all.push_back(read);
        has_foreign = has_foreign || (read->ended && !is_own(queue_reads));
        if (!read->ended && queue_reads.second.in_order) break;  // nor have later ones
      }
    }
  }
  if (!has_foreign) return {};
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
  return all;
}

void PendingReads::send_ended(std::uint64_t own_queue) {
  if (!has_unsent()) return;
  const ReadList all = ended(own_queue);
  if (all.empty()) return;
  AnswerBatch batch(*this);
  EventsFrame frame;
  for (const std::shared_ptr<PendingRead>& read : all) {
    batch.add(*read, frame);
    if (frame.is_full()) outbox_.send(frame);
  }
  if (!frame.empty()) outbox_.send(frame);
}

void PendingReads::AnswerBatch::add(PendingRead& read, EventsFrame& frame) {
  if (std::exchange(read.answered, true)) return;
  read.kept.reset();
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

PendingReads::AnswerBatch::~AnswerBatch() {
  if (count_ != 0) {
    answered_ = reads_.take_answered();
    for (const std::shared_ptr<PendingRead>& read : answered_)
      read->sent.store(true, std::memory_order_release);
    reads_.unsent_.fetch_sub(count_, std::memory_order_release);
  }
  reads_.sending_mutex_.unlock();
}

PendingReads::ReadList PendingReads::take_answered() {
  ReadList answered;
  const base::MutexLock lock(mutex_);
  for (auto queue_reads = queues_.begin(); queue_reads != queues_.end();) {
    auto& reads = queue_reads->second.reads;
    const auto left = std::stable_partition(
        reads.begin(), reads.end(), [](const std::shared_ptr<PendingRead>& read) { return read->answered; });
    answered.insert(answered.end(), std::make_move_iterator(reads.begin()), std::make_move_iterator(left));
    reads.erase(reads.begin(), left);
    queue_reads = reads.empty() ? queues_.erase(queue_reads) : std::next(queue_reads);
  }
  return answered;
}

void PendingReads::run_on_worker(std::function<void()> function) {
  {
    const base::MutexLock lock(tasks_mutex_);
    tasks_.push_back(std::move(function));
    if (!worker_.joinable()) worker_ = std::thread([this] { run_tasks(); });
  }
  tasks_changed_.notify_one();
}

void PendingReads::run_tasks() {
  base::MutexLock lock(tasks_mutex_);
  while (true) {
    while (!stopping_ && tasks_.empty()) tasks_changed_.wait(lock);
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace cleave::remote::server
