#include "cli/top/live/history.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cleave::cli {
namespace {

constexpr std::size_t kLevels = 8;
constexpr std::array<const char*, kLevels + 1> kBlocks = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                          "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<const char*, kLevels + 1> kAscii = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};

std::size_t level_of(double share) {
  const double limited = std::clamp(share, 0.0, 1.0);
  return static_cast<std::size_t>(std::ceil(limited * kLevels));
}

}  // namespace

const Shares& Histories::add(const std::string& key, double share) {
  Shares& shares = all_[key];
  if (shares.size() == kMostShares) shares.erase(shares.begin());
  shares.push_back(share);
  seen_.insert(key);
  return shares;
}

Shares Histories::of(const std::string& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? Shares{} : found->second;
}

void Histories::end_look() {
  std::erase_if(all_, [this](const auto& each) { return seen_.count(each.first) == 0; });
  seen_.clear();
}

std::string sparkline(const Shares& shares, std::size_t width, bool unicode) {
  const auto& levels = unicode ? kBlocks : kAscii;
  const std::size_t shown = std::min(width, shares.size());
  std::string text(width - shown, ' ');
  for (std::size_t i = shares.size() - shown; i < shares.size(); ++i) text += levels[level_of(shares[i])];
  return text;
}

}  // namespace cleave::cli
