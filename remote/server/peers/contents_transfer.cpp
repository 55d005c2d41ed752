#include "remote/server/peers/contents_transfer.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <span>
#include <thread>
#include <utility>

#include "opencl/info.h"
#include "remote/protocol/limits.h"
#include "remote/server/queues/event_reference.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// Parts that are in memory at a time, in addition to the one that is sent or received.
constexpr std::size_t kPartsAhead = 2;
constexpr std::size_t kPartHeader = 4;  // bytes

// Waits in short sleeps, so that `meanwhile` can do something: the driver's own wait might take for ever. False: the command has
// failed.
bool wait_until_ended(const Table& cl, const EventReference& event, const std::function<void()>& meanwhile) {
  constexpr std::chrono::microseconds kFirstSleep{20};
  constexpr std::chrono::microseconds kLongestSleep{500};
  for (auto sleep = kFirstSleep;; sleep = std::min(2 * sleep, kLongestSleep)) {
    const cl_int status = status_of(cl, event.get());
    if (status <= CL_COMPLETE) return status == CL_COMPLETE;
    if (meanwhile) meanwhile();
    std::this_thread::sleep_for(sleep);
  }
}

// A part of the range as the processor sees it: the buffer itself, mapped, or a copy.
class Part {
 public:
  enum class Direction : std::uint8_t { from_device, to_device };

  // May fail at once: then is_good() is false.
  Part(const ContentsRange& range, Staging& staging, std::uint64_t at, std::uint64_t size,
       Direction direction)
      : range_(&range), offset_(range.offset() + at), size_(size) {
    if (range.is_mapped()) {
      map(direction == Direction::from_device ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION);
    } else {
      block_ = staging.take(size);
      if (block_ && direction == Direction::from_device) read();
    }
  }
  Part(Part&& other) noexcept
      : range_(other.range_),
        offset_(other.offset_),
        size_(other.size_),
        block_(std::move(other.block_)),
        mapped_(std::exchange(other.mapped_, nullptr)),
        ended_(std::move(other.ended_)),
        error_(other.error_) {}
  Part& operator=(Part&&) = delete;
  // Whatever happens, the driver no longer uses the memory afterwards.
  ~Part() {
    if (ended_.get() != nullptr) wait_until_ended(range_->cl(), ended_, {});
    if (mapped_ != nullptr && unmap()) wait_until_ended(range_->cl(), ended_, {});
  }

  [[nodiscard]] bool is_good() const {
    return error_ == CL_SUCCESS && (mapped_ != nullptr || static_cast<bool>(block_));
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return mapped_ != nullptr ? std::span(static_cast<std::byte*>(mapped_), size_) : block_.bytes();
  }
  // Until the processor may use it, or the device has what write() gave it.
  bool wait(const std::function<void()>& meanwhile) {
    if (!is_good() && ended_.get() == nullptr) return false;
    if (ended_.get() == nullptr) return true;
    const EventReference ended = std::move(ended_);
    return wait_until_ended(range_->cl(), ended, meanwhile) && error_ == CL_SUCCESS;
  }
  // What has been received goes to the device. False: failed.
  bool write() {
    if (mapped_ != nullptr) return unmap();
    cl_event event = nullptr;
    error_ = range_->cl().clEnqueueWriteBuffer(range_->queue(), range_->buffer(), CL_FALSE, offset_, size_,
                                               block_.data(), 0, nullptr, &event);
    return enqueued(event);
  }

 private:
  void map(cl_map_flags flags) {
    cl_event event = nullptr;
    mapped_ = range_->cl().clEnqueueMapBuffer(range_->queue(), range_->buffer(), CL_FALSE, flags, offset_,
                                              size_, 0, nullptr, &event, &error_);
    enqueued(event);
  }
  bool unmap() {
    cl_event event = nullptr;
    error_ = range_->cl().clEnqueueUnmapMemObject(range_->queue(), range_->buffer(),
                                                  std::exchange(mapped_, nullptr), 0, nullptr, &event);
    return enqueued(event);
  }
  void read() {
    cl_event event = nullptr;
    error_ = range_->cl().clEnqueueReadBuffer(range_->queue(), range_->buffer(), CL_FALSE, offset_, size_,
                                              block_.data(), 0, nullptr, &event);
    enqueued(event);
  }
  bool enqueued(cl_event event) {
    if (error_ != CL_SUCCESS) return false;
    ended_ = EventReference(range_->cl(), event);
    range_->cl().clFlush(range_->queue());
    return true;
  }

  const ContentsRange* range_;
  std::uint64_t offset_;
  std::uint64_t size_;
  Block block_;
  void* mapped_ = nullptr;
  EventReference ended_;  // of what was enqueued last; empty: it has been waited for
  cl_int error_ = CL_SUCCESS;
};

// The parts of a range in their order, some of them begun ahead.
class Parts {
 public:
  Parts(const ContentsRange& range, Staging& staging, Part::Direction direction)
      : range_(range),
        staging_(staging),
        direction_(direction),
        // Nothing has to be done for a copy that is received before its time.
        most_ahead_(direction == Part::Direction::to_device && !range.is_mapped() ? 0 : kPartsAhead) {}

  [[nodiscard]] bool has_more() const { return !ahead_.empty() || at_ < range_.size(); }
  Part next() {
    while (at_ < range_.size() && ahead_.size() <= most_ahead_) {
      const std::uint64_t size = std::min<std::uint64_t>(kMaxContentsPart, range_.size() - at_);
      ahead_.emplace_back(range_, staging_, at_, size, direction_);
      at_ += size;
    }
    Part first = std::move(ahead_.front());
    ahead_.pop_front();
    return first;
  }

 private:
  const ContentsRange& range_;
  Staging& staging_;
  const Part::Direction direction_;
  const std::size_t most_ahead_;
  std::uint64_t at_ = 0;  // of the next one to begin
  std::deque<Part> ahead_;
};

bool send_part(Stream& stream, std::span<const std::byte> bytes, Duration stall_timeout) {
  std::array<std::byte, kPartHeader> header{};
  for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(bytes.size() >> (8 * i));
  std::array<iovec, 2> parts{
      {{header.data(), header.size()}, {const_cast<std::byte*>(bytes.data()), bytes.size()}}};
  return stream.write(std::span(parts), stall_timeout);
}

// What comes from a source, without the headers of its parts.
class ContentsReader {
 public:
  ContentsReader(Stream& stream, Duration silence) : stream_(stream), silence_(silence) {}

  // False: the connection is closed, the source is silent, or sends what it should not.
  bool read(std::span<std::byte> into) {
    while (!into.empty()) {
      if (left_ == 0 && !begin_part()) return false;
      const std::span<std::byte> now = into.first(std::min<std::size_t>(into.size(), left_));
      if (!read_exactly(now)) return false;
      left_ -= static_cast<std::uint32_t>(now.size());
      into = into.subspan(now.size());
    }
    return true;
  }
  // Whether the last part has no bytes left that were not read.
  [[nodiscard]] bool is_at_end_of_part() const { return left_ == 0; }

 private:
  bool begin_part() {
    std::array<std::byte, kPartHeader> header{};
    do {
      if (!read_exactly(header)) return false;
      for (std::size_t i = 0; i < header.size(); ++i)
        left_ |= std::to_integer<std::uint32_t>(header[i]) << (8 * i);
    } while (left_ == 0);
    return left_ <= kMaxContentsPart;
  }
  bool read_exactly(std::span<std::byte> into) {
    while (!into.empty()) {
      std::size_t size = 0;
      if (stream_.read(into, size, steady_clock::now() + silence_) != ReadStatus::data) return false;
      into = into.subspan(size);
    }
    return true;
  }

  Stream& stream_;
  const Duration silence_;
  std::uint32_t left_ = 0;  // of the current part
};

}  // namespace

ContentsRange::ContentsRange(const Table& cl, cl_command_queue queue, cl_mem buffer, std::uint64_t offset,
                             std::uint64_t size)
    : cl_(&cl),
      queue_(opencl::hold(cl.clRetainCommandQueue, cl.clReleaseCommandQueue, queue)),
      buffer_(opencl::hold(cl.clRetainMemObject, cl.clReleaseMemObject, buffer)),
      offset_(offset),
      size_(size) {
  const auto device = opencl::info<cl_device_id>(cl.clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE);
  const auto type = opencl::info<cl_device_type>(cl.clGetDeviceInfo, device, CL_DEVICE_TYPE);
  is_mapped_ = (type & CL_DEVICE_TYPE_CPU) != 0;
}

bool send_contents(const ContentsRange& range, Stream& stream, Staging& staging, Duration stall_timeout) {
  auto last_sent = steady_clock::now();
  bool is_connected = true;
  const auto show_life = [&] {
    if (!is_connected || steady_clock::now() - last_sent < kContentsHeartbeat) return;
    is_connected = send_part(stream, {}, stall_timeout);
    last_sent = steady_clock::now();
  };
  Parts parts(range, staging, Part::Direction::from_device);
  while (parts.has_more()) {
    Part part = parts.next();
    if (!part.wait(show_life) || !is_connected) return false;
    if (!send_part(stream, part.bytes(), stall_timeout)) return false;
    last_sent = steady_clock::now();
  }
  return true;
}

bool receive_contents(const ContentsRange& range, Stream& stream, Staging& staging, Duration silence) {
  ContentsReader reader(stream, silence);
  Parts parts(range, staging, Part::Direction::to_device);
  std::deque<Part> written;
  while (parts.has_more()) {
    Part part = parts.next();
    if (!part.wait({}) || !reader.read(part.bytes()) || !part.write()) return false;
    written.push_back(std::move(part));
    if (written.size() <= kPartsAhead) continue;
    if (!written.front().wait({})) return false;
    written.pop_front();
  }
  bool is_good = reader.is_at_end_of_part();
  for (Part& each : written) is_good = each.wait({}) && is_good;
  return is_good;
}

}  // namespace cleave::remote::server
