#include "observe/trace_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <string_view>
#include <unistd.h>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/files/own_descriptors.h"
#include "base/log.h"
#include "base/text/number.h"
#include "base/threads/ignore_sigpipe.h"
#include "observe/process_id_path.h"
#include "observe/trace_origin.h"

namespace cleave::observe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr base::Nanoseconds kLongest = 250ms;
constexpr const char* kEnd = "\n]\n";
constexpr std::uint64_t kReservedForEnd = 1024;  // for the last event and the closing bracket
constexpr std::size_t kMaxNamedThreads = 4096;   // are named

class ScopedErrno {
 public:
  ScopedErrno() = default;
  ScopedErrno(const ScopedErrno&) = delete;
  ScopedErrno& operator=(const ScopedErrno&) = delete;
  ~ScopedErrno() { errno = saved_; }

 private:
  int saved_ = errno;
};

constexpr std::string_view kOwnDescriptors = "/proc/self/fd/";

// A duplicate of the path's descriptor, if that is of an empty regular file that is open for writing: one that was made for the
// trace. -1: it is not.
int duplicate_named(std::string_view path) {
  if (!path.starts_with(kOwnDescriptors)) return -1;
  const auto number = base::parse_unsigned(path.substr(kOwnDescriptors.size()), 0, INT_MAX);
  struct stat status {};
  if (!number || ::fstat(static_cast<int>(*number), &status) != 0) return -1;
  const int flags = ::fcntl(static_cast<int>(*number), F_GETFL);
  if (!S_ISREG(status.st_mode) || status.st_size != 0 || (flags & (O_ACCMODE | O_APPEND)) != O_WRONLY)
    return -1;
  return base::duplicate_own(static_cast<int>(*number));
}

int open_for_writing(const std::string& path) {
  if (const int own = duplicate_named(path); own >= 0) return own;
  struct stat status {};
  const bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const int flags = O_WRONLY | O_NOCTTY | (special ? O_NONBLOCK : O_CREAT);
  return base::open_own(path.c_str(), flags, 0644);
}

// Writing beyond the limit would end the program by SIGXFSZ.
std::uint64_t within_file_size_limit(std::uint64_t most) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  return std::min<std::uint64_t>(most, limit.rlim_cur);
}

}  // namespace

TraceWriter::TraceWriter(std::string path, std::string labels, base::ForkLocks& forks, base::Clock& clock,
                         std::uint64_t max_bytes, base::ForkOrder order)
    : path_(std::move(path)),
      labels_(std::move(labels)),
      clock_(clock),
      max_bytes_(within_file_size_limit(max_bytes)) {
  forks.add<&TraceWriter::reset_in_child>(order, mutex_, *this);
}

TraceWriter::~TraceWriter() { end(); }

void TraceWriter::add(const TraceEvents& events, Track thread) noexcept try {
  if (events.empty()) return;
  const ScopedErrno restore_errno;
  const base::MutexLock lock(mutex_);
  if (state_ == State::waiting) open();
  if (state_ != State::open) return;
  name_thread(thread);
  append(events.text());
  const base::Nanoseconds now = clock_.now();
  if (!ended_ && buffer_.size() < kBuffer && now - last_write_ < kLongest) return;
  last_write_ = now;
  write();
} catch (...) {  // out of memory: the trace lacks these events
}

void TraceWriter::flush() noexcept {
  const ScopedErrno restore_errno;
  const base::MutexLock lock(mutex_);
  if (state_ == State::open && !buffer_.empty()) write();
}

void TraceWriter::end(bool without_events) noexcept {
  const ScopedErrno restore_errno;
  const base::MutexLock lock(mutex_);
  if (state_ == State::waiting && without_events) open();
  if (state_ != State::open) return;
  if (!regular_ && !ended_) buffer_.append(kEnd);
  ended_ = true;
  write();
  if (!regular_) state_ = State::over;
}

// Closing the inherited descriptor is enough: the file's lock is the parent's while any process has it open.
void TraceWriter::reset_in_child() noexcept {
  file_.close();
  state_ = State::waiting;
  forked_ = true;
  ended_ = false;
  written_ = 0;
  buffer_.clear();
  threads_.clear();
}

void TraceWriter::open() noexcept try {
  state_ = State::over;
  const bool own_path = path_.find("%p") != std::string::npos;
  const std::string beside = path_ + "." + std::to_string(getpid());
  if (own_path || !forked_) {
    if (!try_open(with_process_id(path_)) && errno == EWOULDBLOCK && !own_path) try_open(beside);
  } else {
    try_open(beside);
  }
  if (file_.get() < 0) return fail("cannot be written");
  state_ = State::open;
  begin();
} catch (...) {
  state_ = State::over;
}

// Opens and empties the file, unless another process is writing it.
bool TraceWriter::try_open(const std::string& path) {
  name_ = path;
  file_.open(open_for_writing(path));
  if (file_.get() < 0) return false;
  struct stat status {};
  int error = fstat(file_.get(), &status) == 0 ? 0 : errno;
  regular_ = S_ISREG(status.st_mode);
  // If the file system has no locks, the file is assumed to be free.
  if (error == 0 && regular_ && flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    error = errno;
  if (error == 0 && regular_ && ftruncate(file_.get(), 0) != 0) error = errno;
  if (error == 0) return true;
  file_.close();
  errno = error;
  return false;
}

void TraceWriter::begin() {
  TraceEvents events;
  events.name_process(program_invocation_short_name, labels_);
  events.note(kOriginNote, origin_of_this_process());
  buffer_ = "[";
  buffer_.append(events.text(), 1);  // no comma before the first
  last_write_ = clock_.now();
}

void TraceWriter::name_thread(Track thread) {
  if (thread >= kOwnTracks || threads_.size() >= kMaxNamedThreads || !threads_.insert(thread).second) return;
  std::array<char, 32> name{};
  if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) return;
  TraceEvents events;
  events.name_track(thread, name.data());
  append(events.text());
}

void TraceWriter::append(const std::string& text) {
  if (state_ != State::open) return;
  if (written_ + buffer_.size() + text.size() + kReservedForEnd <= max_bytes_) {
    buffer_.append(text);
    return;
  }
  TraceEvents events;
  events.instant(thread_track(), clock_.now(), {"the trace ends here: it is full", "trace", {}});
  buffer_.append(events.text());
  if (!regular_) buffer_.append(kEnd);
  write();
  if (state_ != State::open) return;
  state_ = State::over;
  base::log_line("CLEAVE_TRACE=\"" + path_ + "\": " + name_ + " is full with " +
                 std::to_string(written_ / (1U << 20)) + " MiB; the rest of the run is not traced");
}

void TraceWriter::write() noexcept try {
  const std::string text = regular_ ? buffer_ + kEnd : buffer_;
  if (!file_.is_valid()) {
    file_.close();
    errno = EBADF;
    return fail("was closed by the program");
  }
  if (!write_bytes(text)) {
    const int error = errno;
    if (regular_ && ftruncate(file_.get(), static_cast<off_t>(written_)) == 0) {
      buffer_.clear();
      static_cast<void>(write_bytes(kEnd));
    }
    errno = error;
    return fail("can no longer be written");
  }
  written_ += buffer_.size();
  buffer_.clear();
} catch (...) {  // out of memory: retried by the next call
}

bool TraceWriter::write_bytes(const std::string& text) const {
  const base::ScopedIgnoreSigpipe safely;
  std::size_t done = 0;
  while (done < text.size()) {
    const char* const from = text.data() + done;
    const std::size_t left = text.size() - done;
    const ssize_t now = regular_ ? pwrite(file_.get(), from, left, static_cast<off_t>(written_ + done))
                                 : ::write(file_.get(), from, left);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<std::size_t>(now);
  }
  return true;
}

void TraceWriter::fail(const char* what) noexcept try {
  state_ = State::over;
  base::log_line("CLEAVE_TRACE=\"" + path_ + "\": " + name_ + " " + what + " (" + std::strerror(errno) +
                 "): name a file in a folder that can be written to");
} catch (...) {
  base::log_line("out of memory while reporting a problem with CLEAVE_TRACE");
}

}  // namespace cleave::observe
