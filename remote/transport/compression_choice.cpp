#include "remote/transport/compression_choice.h"

#include <algorithm>

namespace cleave::remote {
namespace {

using namespace std::chrono_literals;

// Less time is not worth the processor's.
constexpr double kMinGain = 100e-6;  // seconds
// Before anything is known of a link, which then has carried next to nothing.
constexpr double kAssumedRate = 1.25e6;  // bytes per second
// A peer so near is on this machine or in the same room. The little that was sent does not show what such a link carries.
constexpr std::chrono::microseconds kNear = 500us;
constexpr double kNearRate = 1e9;
// On slower links a better compression pays.
constexpr double kSlowRate = 2.5e6;
// Decompressing takes a third of the time of compressing.
constexpr double kBothEnds = 4.0 / 3;
constexpr std::uint64_t kStretch = 1U << 20U;
// What saves less is not sent compressed, and counts as a failure.
constexpr double kMaxShare = 0.95;
constexpr unsigned kMaxFailures = 6;
constexpr double kWeight = 0.25;  // of the latest block in the averages
constexpr double kForget = 0.02;  // how fast a share that is not tried moves back to the middle
constexpr double kUnknownShare = 0.5;

double rate_of(const LinkMeasure& link) {
  const double measured =
      link.bytes_per_second == 0 ? kAssumedRate : static_cast<double>(link.bytes_per_second);
  return !link.is_limit && link.round_trip < kNear ? std::max(measured, kNearRate) : measured;
}

std::size_t index_of(Coding coding) { return coding == Coding::dense ? 1 : 0; }

}  // namespace

Coding CompressionChoice::choose(std::uint64_t size, std::uint64_t at, const LinkMeasure& link) {
  if (size < kMinCompressed) return Coding::raw;
  const double rate = rate_of(link);
  const Coding coding = rate < kSlowRate ? Coding::dense : Coding::fast;
  const auto bytes = static_cast<double>(size);
  const double gain = bytes * (1 - share_) / rate - kBothEnds * bytes / speed_[index_of(coding)];
  if (gain < kMinGain) {
    share_ += kForget * (kUnknownShare - share_);
    return Coding::raw;
  }
  if (skipped_ > 0) {
    --skipped_;
    return Coding::raw;
  }
  if (!link.is_limit && at / kStretch % 2 != 0) return Coding::raw;
  return coding;
}

bool CompressionChoice::note(Coding coding, std::uint64_t size, std::uint64_t compressed, Seconds time) {
  const auto bytes = static_cast<double>(size);
  const double share = std::min(1.0, static_cast<double>(compressed) / bytes);
  share_ += kWeight * (share - share_);
  double& speed = speed_[index_of(coding)];
  speed += kWeight * (bytes / std::max(time.count(), 1e-9) - speed);
  if (share <= kMaxShare) {
    failures_ = 0;
    return true;
  }
  failures_ = std::min(failures_ + 1, kMaxFailures);
  skipped_ = std::uint64_t{1} << failures_;
  return false;
}

}  // namespace cleave::remote
