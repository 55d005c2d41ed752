#include "neighbours/own_use.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/text/number.h"

namespace cleave::neighbours {

OwnUse::OwnUse(double busy_share, base::Nanoseconds interval)
    : busy_share_(busy_share), interval_(std::max(interval, kMinInterval)) {}

void OwnUse::sample(base::Nanoseconds used, base::Nanoseconds now) {
  next_ = now + interval_;
  const std::chrono::duration<double> passed = now - sampled_;
  const bool comparable = used_ && *used_ <= used && passed.count() > 0;
  const double wanted = kMargin * busy_share_ * passed.count();
  const bool busy = comparable && std::chrono::duration<double>(used - *used_).count() >= wanted;
  busy_intervals_ = busy ? std::min(busy_intervals_ + 1, kIntervals) : 0;
  used_ = used;
  sampled_ = now;
}

unsigned count_of_busy(unsigned running, unsigned busy, bool own) {
  const unsigned others = own ? busy - std::min(busy, 1U) : busy;
  return std::clamp(1 + others, 1U, std::max(running, 1U));
}

std::optional<base::Nanoseconds> parse_processor_time(std::string_view text, long ticks_per_second) {
  constexpr std::string_view kAll = "cpu ";
  // user, nice, system, idle, iowait, irq, softirq; what follows is the host's, or is contained in the first two.
  constexpr std::array kCounts = {true, true, true, false, false, true, true};
  if (!text.starts_with(kAll) || ticks_per_second <= 0) return std::nullopt;
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(kAll.size());
  std::uint64_t ticks = 0;
  for (const bool counts : kCounts) {
    const auto begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const auto number = base::parse_unsigned(text.substr(0, text.find(' ')), 0, UINT64_MAX >> 34U);
    if (!number) return std::nullopt;
    if (counts) ticks += *number;
    text.remove_prefix(std::min(text.find(' '), text.size()));
  }
  return base::Nanoseconds(static_cast<std::int64_t>(ticks) * (1'000'000'000 / ticks_per_second));
}

std::optional<base::Nanoseconds> machine_processor_time() {
  const base::FileDescriptor file(base::open_own("/proc/stat", O_RDONLY));
  std::array<char, 512> text;  // the first line is all that is needed
  const ssize_t size = file.is_open() ? read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  return parse_processor_time({text.data(), static_cast<std::size_t>(size)}, sysconf(_SC_CLK_TCK));
}

}  // namespace cleave::neighbours
