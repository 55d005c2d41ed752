// What a kernel that was built with the prelude sees, for the bodies of simulated kernels: the same
// arithmetic as the prelude's text, in C++.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tests/sim/driver/execution.h"

namespace cleave {

class PreludeView {
 public:
  PreludeView(const sim::Execution& execution, const sim::Item& item)
      : item_(item), dims_(execution.work_dim()), tag_(tag_of(item)) {}

  std::uint32_t work_dim() const { return ((tag_ >> 29U) & 3U) != 0 ? (tag_ >> 29U) & 3U : dims_; }
  std::size_t num_groups(unsigned d) const {
    if (!is_cut(d)) return item_.num_groups[d];
    if (is_volume()) return volume_groups(d);
    if (((tag_ >> 26U) & 3U) == 3) return (tag_ >> (13 * d)) & 0x1fffU;
    return with_first() ? tag_ & 0x1fffU : tag_ & 0x3ffffffU;
  }
  std::size_t group_id(unsigned d) const {
    if (!is_cut(d)) return item_.group_id[d];
    if (with_first()) return item_.group_id[d] + ((tag_ >> 13U) & 0x1fffU);
    return (global_id(d) - item_.local_id[d]) / item_.local_size[d];
  }
  std::size_t global_size(unsigned d) const {
    return is_cut(d) ? num_groups(d) * item_.local_size[d] : item_.global_size[d];
  }
  std::size_t global_offset(unsigned d) const {
    const bool has_own = is_volume() ? d == 2 : with_first();
    if (is_cut(d) || (is_volume() && d == 2)) {
      return has_own ? global_id(d) - item_.local_id[d] - group_id(d) * item_.local_size[d] : 0;
    }
    return tag_ != 0 && d == 2 ? 0 : item_.global_offset[d];
  }
  std::size_t global_id(unsigned d) const {
    if (tag_ == 0 || d != 2) return item_.global_id[d];
    return is_volume() ? item_.global_id[2] & ((1U << volume_id_bits()) - 1) : 0;
  }
  std::size_t global_linear_id() const {
    const std::size_t plane =
        (global_id(2) - global_offset(2)) * global_size(1) + global_id(1) - global_offset(1);
    return plane * global_size(0) + global_id(0) - global_offset(0);
  }

 private:
  static std::uint32_t tag_of(const sim::Item& item) {
    const auto third = static_cast<std::int64_t>(item.global_id[2] - item.local_id[2]);
    return third < 0 ? static_cast<std::uint32_t>(third) : 0;
  }
  bool is_volume() const { return tag_ >> 29U == 4; }
  bool is_cut(unsigned d) const { return d < (is_volume() ? 3 : 2) && ((tag_ >> (26U + d)) & 1U) != 0; }
  bool with_first() const { return !is_volume() && ((tag_ >> 28U) & 1U) != 0; }
  int volume_cuts() const { return std::popcount((tag_ >> 26U) & 7U); }
  unsigned volume_id_bits() const { return volume_cuts() == 1 ? 13 : volume_cuts() == 2 ? 10 : 8; }
  std::size_t volume_groups(unsigned d) const {
    const unsigned width = volume_cuts() == 1 ? 13 : volume_cuts() == 2 ? 8 : 6;
    const auto below = static_cast<unsigned>(std::popcount((tag_ >> 26U) & ((1U << d) - 1)));
    return (tag_ >> (volume_id_bits() + below * width)) & ((1U << width) - 1);
  }

  const sim::Item& item_;
  std::uint32_t dims_;
  std::uint32_t tag_;
};

// What the kernel writes with which src/interpose/drivers/driver_probe.cpp tries a driver out.
inline void probe_body(sim::Execution& execution) {
  constexpr std::size_t kWords = 19;
  const auto words = execution.buffer<std::uint32_t>(0);
  execution.for_each_item([&](const sim::Item& item) {
    const PreludeView view(execution, item);
    auto* const at = &words[view.global_linear_id() * kWords];
    const auto sum = [](auto of) { return static_cast<std::uint32_t>(of(0) + 3 * of(1) + 5 * of(2)); };
    at[0] = view.work_dim();
    at[1] = sum([&](unsigned d) { return view.group_id(d); });
    at[2] = sum([&](unsigned d) { return view.num_groups(d); }) +
            static_cast<std::uint32_t>(7 * view.global_offset(2));
    at[3] = sum([&](unsigned d) { return view.global_id(d); }) + 7 * 8;
    for (unsigned d = 0; d < 3; ++d) {
      at[4 + 5 * d] = static_cast<std::uint32_t>(view.group_id(d));
      at[5 + 5 * d] = static_cast<std::uint32_t>(view.num_groups(d));
      at[6 + 5 * d] = static_cast<std::uint32_t>(view.global_size(d));
      at[7 + 5 * d] = static_cast<std::uint32_t>(view.global_offset(d));
      at[8 + 5 * d] = static_cast<std::uint32_t>(view.global_id(d));
    }
  });
}

}  // namespace cleave
