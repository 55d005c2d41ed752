// α by the number of virtual machines on the host, as users write it: one number for all, or a table such as 1:10,2:7,4:4.
//
// Source: "GPGPU task management ... virtual machines" chooses α for each number of VMs by an experiment (its Eq. 2 and Fig. 6).
//
// A value of fixed size: copies do not allocate. Thread-safe as an int is.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace cleave::base {

class AlphaTable {
 public:
  static constexpr std::size_t kMaxRows = 16;
  static constexpr unsigned kMaxAlpha = 1'000'000;
  static constexpr unsigned kMaxVms = 100'000;

  // From so many VMs on, up to the next row.
  struct Row {
    unsigned vms = 0;
    unsigned alpha = 0;

    bool operator==(const Row&) const = default;
  };

  // Not set.
  AlphaTable() = default;
  // The same α whatever the number of VMs. 0: not set.
  AlphaTable(unsigned alpha) : rows_{{{1, alpha}}}, count_(alpha == 0 ? 0 : 1) {}

  // A number, or rows VMS:ALPHA in ascending order of VMS, separated by commas, at most kMaxRows. Numbers are at least 1.
  // Empty for anything else.
  static std::optional<AlphaTable> parse(std::string_view text);

  // The α of the row with the largest number of VMs that is no larger than `vms`; of the first row if there is none; 0 if not
  // set.
  [[nodiscard]] unsigned of(unsigned vms) const;

  [[nodiscard]] bool is_set() const { return count_ != 0; }
  [[nodiscard]] std::span<const Row> rows() const { return {rows_.data(), count_}; }

  bool operator==(const AlphaTable&) const = default;

 private:
  std::array<Row, kMaxRows> rows_{};  // those beyond count_ are zeros
  std::size_t count_ = 0;
};

}  // namespace cleave::base
