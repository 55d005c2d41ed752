#include "monitor/hypervisor/pressure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fcntl.h>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/text/number.h"

namespace cleave::monitor {
namespace {

using Seconds = std::chrono::duration<double>;

}  // namespace

void PressureMeter::sample(const std::vector<SchedulerTimes>& times, TimePoint now) {
  const Seconds length = now - sampled_;
  Seconds ran{0};
  Seconds waited{0};
  std::unordered_map<Uuid, OfDomain, UuidHash> domains;
  for (const SchedulerTimes& time : times) {
    domains[time.domain][time.vcpu] = time;
    const OfDomain& before = domains_[time.domain];
    const auto last = before.find(time.vcpu);
    if (last == before.end()) continue;
    if (time.ran < last->second.ran || time.waited < last->second.waited) continue;
    ran += time.ran - last->second.ran;
    waited += time.waited - last->second.waited;
  }
  if (domains_sampled_ && length.count() > 0)
    add(waited / std::max(ran + waited, kIdleShare * length), length);
  domains_ = std::move(domains);
  domains_sampled_ = true;
  stalled_.reset();
  sampled_ = now;
}

void PressureMeter::sample_host(std::chrono::nanoseconds stalled, TimePoint now) {
  const Seconds length = now - sampled_;
  if (stalled_ && *stalled_ <= stalled && length.count() > 0)
    add(Seconds(stalled - *stalled_) / length, length);
  domains_.clear();
  domains_sampled_ = false;
  stalled_ = stalled;
  sampled_ = now;
}

void PressureMeter::add(double x, Seconds length) {
  x = std::clamp(x, 0.0, 1.0);
  const double weight = 1 - std::exp(-length / Seconds(kSmoothing));
  pressure_ = pressure_ ? *pressure_ + weight * (x - *pressure_) : x;
}

std::optional<std::chrono::nanoseconds> parse_host_stall(std::string_view text) {
  constexpr std::string_view kLine = "some ";
  constexpr std::string_view kTotal = " total=";
  if (!text.starts_with(kLine)) return std::nullopt;
  text = text.substr(0, text.find('\n'));
  const auto total = text.find(kTotal);
  if (total == std::string_view::npos) return std::nullopt;
  const auto microseconds = base::parse_unsigned(text.substr(total + kTotal.size()), 0, INT64_MAX / 1000);
  if (!microseconds) return std::nullopt;
  return std::chrono::microseconds(static_cast<std::int64_t>(*microseconds));
}

std::optional<std::chrono::nanoseconds> read_host_stall() {
  const base::FileDescriptor file(open("/proc/pressure/cpu", O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text;
  const ssize_t size = file.is_open() ? read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  return parse_host_stall({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace cleave::monitor
