#include "neighbours/file_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "base/files/own_descriptors.h"
#include "base/text/monitor_line.h"
#include "base/text/number.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kReadPeriod = 1s;
constexpr std::size_t kMaxSize = 64;  // bytes

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The resolution of time stamps is some milliseconds, and two seconds on the coarsest file systems.
bool just_now(std::int64_t changed) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = nanoseconds(now) - changed;
  return age < 2'500'000'000;
}

}  // namespace

std::optional<unsigned> read_count(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  const auto number = base::parse_unsigned(text, 0, base::kMaxMachines);
  return number ? std::optional(std::max(static_cast<unsigned>(*number), 1U)) : std::nullopt;
}

void FileSource::step(base::Nanoseconds now) {
  if (now < next_read_) return;
  next_read_ = now + kReadPeriod;
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) return fail("unreadable", std::strerror(errno));
  const Version version{status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_ctim)};
  if (version != read_ || may_have_changed_) {
    read_ = version;
    may_have_changed_ = just_now(version.changed);
    read();
  }
  if (count_) last_count_ = TimedCount{*count_, now};
}

void FileSource::read() {
  count_.reset();
  const int file = base::open_own(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return fail("unreadable", std::strerror(errno));
  struct stat status {};
  std::array<char, kMaxSize> text;
  const bool plain = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t size = plain ? ::read(file, text.data(), text.size()) : -1;
  close(file);
  if (!plain) return fail("no file", "is no regular file");
  if (size >= 0 && static_cast<std::size_t>(size) < text.size()) {
    count_ = read_count({text.data(), static_cast<std::size_t>(size)});
  }
  if (!count_) return fail("no number", "does not hold a number of VMs");
  state_ = "read";
}

void FileSource::fail(const char* state, const std::string& why) {
  state_ = state;
  read_ = Version{};
  if (warning_.empty()) warning_ = "neighbours.source: file:" + path_ + ": " + why;
}

std::string FileSource::take_warning() { return std::exchange(warning_, {}); }

}  // namespace cleave::neighbours
