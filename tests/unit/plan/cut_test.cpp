#include "plan/cut.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

NDRange range_of(unsigned dims, Extent global, Extent local, Extent offset = {0, 0, 0}) {
  NDRange range;
  range.dims = dims;
  range.global = global;
  range.local = local;
  range.offset = offset;
  return range;
}

// The work-groups of a box, as [begin, end) in each dimension.
struct Groups {
  Extent begin{};
  Extent end{};
};

// Fails the test unless the box consists of whole work-groups of `range`.
Groups groups_of(const NDRange& range, const Slice& box) {
  Groups groups;
  for (unsigned d = 0; d < 3; ++d) {
    const std::size_t from = box.offset[d] - range.offset[d];
    const std::size_t to = from + box.global[d];
    EXPECT_GE(box.offset[d], range.offset[d]);
    EXPECT_GT(box.global[d], 0U);
    EXPECT_LE(to, range.global[d]);
    EXPECT_EQ(from % range.local[d], 0U) << "a cut within a work-group";
    EXPECT_TRUE(to == range.global[d] || to % range.local[d] == 0) << "a cut within a work-group";
    groups.begin[d] = from / range.local[d];
    groups.end[d] = (to + range.local[d] - 1) / range.local[d];
  }
  return groups;
}

std::size_t count_of(const Groups& box) {
  std::size_t count = 1;
  for (unsigned d = 0; d < 3; ++d) count *= box.end[d] - box.begin[d];
  return count;
}

std::size_t linear_id(const NDRange& range, const Extent& group) {
  return (group[2] * range.groups(1) + group[1]) * range.groups(0) + group[0];
}

// A box holds exactly the linear ids from its first group's to its last's if it is as many groups as that.
void expect_run_of_groups(const NDRange& range, const Groups& box, std::size_t& next) {
  const Extent last{box.end[0] - 1, box.end[1] - 1, box.end[2] - 1};
  EXPECT_EQ(linear_id(range, box.begin), next) << "a group is missing, comes twice or comes out of order";
  EXPECT_EQ(linear_id(range, last) - linear_id(range, box.begin) + 1, count_of(box));
  next += count_of(box);
}

std::size_t total_groups(const NDRange& range) { return range.groups(0) * range.groups(1) * range.groups(2); }

NDRange random_range(std::mt19937_64& random) {
  const auto below = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(1, most)(random);
  };
  NDRange range;
  range.dims = static_cast<unsigned>(below(3));
  for (unsigned d = 0; d < range.dims; ++d) {
    const std::size_t groups = below(below(3) == 1 ? 200 : 9);
    range.local[d] = below(below(2) == 1 ? 32 : 3);
    range.global[d] = groups * range.local[d];
    if (below(3) == 1 && range.global[d] > 1) range.global[d] -= below(range.local[d]) - 1;
    if (below(2) == 1) range.offset[d] = below(100000);
  }
  return range;
}

TEST(Cut, AMillionRandomLaunchesAreCoveredOnceInOrder) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 1'000'000; ++i) {
    const NDRange range = random_range(random);
    const std::size_t total = total_groups(range);
    const std::size_t wanted_slices =
        std::uniform_int_distribution<std::size_t>(1, i % 4 == 0 ? total + 5 : 25)(random);
    const Cut cut(range, wanted_slices);
    ASSERT_EQ(cut.count(), std::min(wanted_slices, total)) << "not as many as asked for, or more";
    std::size_t next = 0;
    // All slices of small plans; of large ones a sample, each against the one before it.
    const std::size_t step = cut.count() > 40 ? cut.count() / 13 : 1;
    for (std::size_t s = 0; s < cut.count(); s += step) {
      const Groups box = groups_of(range, cut.slice(s));
      if (step != 1) next = linear_id(range, box.begin);
      expect_run_of_groups(range, box, next);
      if (step != 1 && s + 1 < cut.count()) {
        expect_run_of_groups(range, groups_of(range, cut.slice(s + 1)), next);
      }
    }
    ASSERT_TRUE(step != 1 || next == total);
    ASSERT_FALSE(HasFailure()) << "launch " << i;
  }
}

TEST(Cut, RemainderEqualsTheRemainingSlices) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const NDRange range = random_range(random);
    const std::size_t wanted_slices = std::uniform_int_distribution<std::size_t>(2, 60)(random);
    const Cut cut(range, wanted_slices);
    const std::size_t from = std::uniform_int_distribution<std::size_t>(0, cut.count() - 1)(random);
    std::size_t next = linear_id(range, groups_of(range, cut.slice(from)).begin);
    const Remainder remainder = cut.remainder(from);
    ASSERT_GE(remainder.count, 1U);
    for (unsigned b = 0; b < remainder.count; ++b)
      expect_run_of_groups(range, groups_of(range, remainder.boxes[b]), next);
    ASSERT_EQ(next, total_groups(range));
    ASSERT_FALSE(HasFailure()) << "launch " << i;
  }
}

TEST(Cut, RunsAreConsecutiveSlicesInOneBox) {
  std::mt19937_64 random(11);
  std::size_t merged = 0;
  for (int i = 0; i < 50'000; ++i) {
    const NDRange range = random_range(random);
    const Cut cut(range, std::uniform_int_distribution<std::size_t>(1, 60)(random),
                  i % 2 == 0 ? Order::any : Order::ascending);
    std::size_t next = 0;
    while (next < cut.count()) {
      const std::size_t most = std::uniform_int_distribution<std::size_t>(1, 9)(random);
      const SliceRun run = cut.run(next, most);
      ASSERT_GE(run.slices, 1U);
      ASSERT_LE(run.slices, most);
      ASSERT_LE(next + run.slices, cut.count());
      const Groups box = groups_of(range, run.box);
      std::size_t groups = 0;
      for (std::size_t s = next; s < next + run.slices; ++s) {
        const Groups slice = groups_of(range, cut.slice(s));
        groups += count_of(slice);
        for (unsigned d = 0; d < 3; ++d) {
          ASSERT_GE(slice.begin[d], box.begin[d]);
          ASSERT_LE(slice.end[d], box.end[d]);
        }
      }
      ASSERT_EQ(groups, count_of(box)) << "launch " << i;
      merged += run.slices > 1 ? 1 : 0;
      next += run.slices;
    }
    ASSERT_EQ(next, cut.count());
    ASSERT_FALSE(HasFailure()) << "launch " << i;
  }
  EXPECT_GT(merged, 100'000U) << "most slices are slabs, side by side";
}

TEST(Cut, AdvancingFindsTheSameRuns) {
  std::mt19937_64 random(13);
  const auto one_at_a_time = [&random] {
    return std::uniform_int_distribution<std::size_t>(0, 3)(random) != 0;
  };
  for (int i = 0; i < 50'000; ++i) {
    const NDRange range = random_range(random);
    const Cut cut(range, std::uniform_int_distribution<std::size_t>(1, 60)(random),
                  i % 2 == 0 ? Order::any : Order::ascending);
    SliceRun run;
    for (std::size_t next = 0; next < cut.count(); next += run.slices) {
      const std::size_t most = one_at_a_time() ? 1 : std::uniform_int_distribution<std::size_t>(2, 9)(random);
      const SliceRun expected = cut.run(next, most);
      cut.advance(run, next, most);
      ASSERT_EQ(run.slices, expected.slices);
      ASSERT_EQ(run.box.offset, expected.box.offset) << "launch " << i << ", slice " << next;
      ASSERT_EQ(run.box.global, expected.box.global) << "launch " << i << ", slice " << next;
    }
  }
}

// The work-groups of a launch, each with the number of slices that hold it.
class Cover {
 public:
  explicit Cover(const NDRange& range) : range_(range), times_(total_groups(range)) {}
  void add(const Slice& slice) {
    const Groups box = groups_of(range_, slice);
    Extent at{};
    for (at[2] = box.begin[2]; at[2] < box.end[2]; ++at[2]) {
      for (at[1] = box.begin[1]; at[1] < box.end[1]; ++at[1]) {
        for (at[0] = box.begin[0]; at[0] < box.end[0]; ++at[0]) ++times_[linear_id(range_, at)];
      }
    }
  }
  bool each_once() const {
    return std::all_of(times_.begin(), times_.end(), [](int times) { return times == 1; });
  }

 private:
  const NDRange& range_;
  std::vector<int> times_;
};

TEST(Cut, UnorderedCutCoversEveryGroupOnce) {
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 60'000; ++i) {
    const NDRange range = random_range(random);
    const std::size_t total = total_groups(range);
    if (total > 3000) continue;
    const std::size_t wanted_slices = std::uniform_int_distribution<std::size_t>(1, total + 3)(random);
    const Cut cut(range, wanted_slices, Order::any);
    ASSERT_EQ(cut.count(), std::min(wanted_slices, total)) << "not as many as asked for, or more";
    Cover all(range);
    Extent cut_in{0, 0, 0};
    bool alone = false;
    for (std::size_t s = 0; s < cut.count(); ++s) {
      const Slice slice = cut.slice(s);
      all.add(slice);
      for (unsigned d = 0; d < 3; ++d) {
        cut_in[d] |= slice.global[d] != range.global[d] ? 1 : 0;
        alone |= slice.global[d] < range.local[d] && range.groups(d) > 1;
      }
    }
    ASSERT_TRUE(all.each_once()) << "launch " << i;
    for (unsigned d = 0; d < 3; ++d)
      ASSERT_EQ(cut.cuts_dimension(d), cut_in[d] != 0) << "launch " << i << ", " << d;
    ASSERT_TRUE(!alone || cut.uneven() == Cut::SmallerGroup::alone) << "launch " << i;
    ASSERT_FALSE(HasFailure()) << "launch " << i;
  }
}

TEST(Cut, UnorderedRemainderEqualsTheRemainingSlices) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 30'000; ++i) {
    const NDRange range = random_range(random);
    if (total_groups(range) > 3000) continue;
    const Cut cut(range, std::uniform_int_distribution<std::size_t>(2, 600)(random), Order::any);
    const std::size_t from = std::uniform_int_distribution<std::size_t>(0, cut.count() - 1)(random);
    Cover all(range);
    for (std::size_t s = 0; s < from; ++s) all.add(cut.slice(s));
    const Remainder remainder = cut.remainder(from);
    ASSERT_GE(remainder.count, 1U);
    for (unsigned b = 0; b < remainder.count; ++b) all.add(remainder.boxes[b]);
    ASSERT_TRUE(all.each_once()) << "launch " << i;
    ASSERT_FALSE(HasFailure()) << "launch " << i;
  }
}

// The sizes of the smallest and of the largest slice, in groups.
std::pair<std::size_t, std::size_t> sizes_of(const NDRange& range, const Cut& cut) {
  std::pair<std::size_t, std::size_t> sizes{SIZE_MAX, 0};
  for (std::size_t s = 0; s < cut.count(); ++s) {
    const std::size_t size = count_of(groups_of(range, cut.slice(s)));
    sizes = {std::min(sizes.first, size), std::max(sizes.second, size)};
  }
  return sizes;
}

TEST(Cut, UnorderedCutOfAMatrixProductIsBalanced) {
  const NDRange range = range_of(2, {5120, 5120, 1}, {16, 16, 1});
  EXPECT_EQ(sizes_of(range, Cut(range, 500)), std::pair(std::size_t{160}, std::size_t{320}));
  EXPECT_EQ(sizes_of(range, Cut(range, 500, Order::any)), std::pair(std::size_t{203}, std::size_t{216}));
  EXPECT_EQ(sizes_of(range, Cut(range, 640, Order::any)), std::pair(std::size_t{160}, std::size_t{160}));
  for (std::size_t wanted_slices = 321; wanted_slices < 1400; ++wanted_slices) {
    const Cut cut(range, wanted_slices, Order::any);
    ASSERT_EQ(cut.count(), wanted_slices);
    const auto [least, most] = sizes_of(range, cut);
    EXPECT_LE(most * 100, least * 134) << wanted_slices;
    EXPECT_LE(most * wanted_slices * 100, 320 * 320 * 122)
        << wanted_slices << ": the largest against the mean";
  }
}

// No other thickness of the bands makes the slices more alike.
TEST(Cut, UnorderedSliceSizesDifferMinimally) {
  std::mt19937_64 random(9);
  const auto below = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(1, most)(random);
  };
  const auto share_of = [](std::size_t total, std::size_t parts, std::size_t i) {
    return total / parts + (i < total % parts ? 1 : 0);
  };
  for (int i = 0; i < 2000; ++i) {
    const NDRange range = range_of(2, {1 + below(40), 1 + below(32), 1}, {1, 1, 1});
    const std::size_t rows = range.global[1];
    const std::size_t total = total_groups(range);
    if (total <= rows + 1) continue;
    const std::size_t wanted_slices = rows + below(total - rows - 1);
    std::size_t best = SIZE_MAX;
    for (std::size_t thickness = 1; thickness <= rows; ++thickness) {
      const std::size_t bands = rows / thickness;
      if (wanted_slices / bands >= range.global[0]) break;
      std::size_t least = SIZE_MAX;
      std::size_t most = 0;
      for (std::size_t band = 0; band < bands; ++band) {
        const std::size_t boxes = share_of(wanted_slices, bands, band);
        const std::size_t height = share_of(rows, bands, band);
        least = std::min(least, height * share_of(range.global[0], boxes, boxes - 1));
        most = std::max(most, height * share_of(range.global[0], boxes, 0));
      }
      best = std::min(best, most - least);
    }
    const auto [least, most] = sizes_of(range, Cut(range, wanted_slices, Order::any));
    ASSERT_EQ(most - least, best) << rows << " rows of " << range.global[0] << " in " << wanted_slices;
    const auto [layer_least, layer_most] = sizes_of(range, Cut(range, wanted_slices));
    ASSERT_LE(most - least, layer_most - layer_least);
  }
}

TEST(Cut, UnorderedSlabsEqualOrderedSlabs) {
  const NDRange range = range_of(2, {5120, 5120, 1}, {16, 16, 1});
  for (const std::size_t wanted_slices : {1, 2, 20, 100, 319, 320}) {
    const Cut any(range, wanted_slices, Order::any);
    const Cut ascending(range, wanted_slices);
    for (std::size_t s = 0; s < wanted_slices; ++s) {
      EXPECT_EQ(any.slice(s).offset, ascending.slice(s).offset);
      EXPECT_EQ(any.slice(s).global, ascending.slice(s).global);
    }
  }
}

TEST(Cut, SlabsDifferByAtMostOneGroupLargerFirst) {
  for (std::size_t groups = 1; groups < 60; ++groups) {
    for (std::size_t wanted_slices = 1; wanted_slices <= groups; ++wanted_slices) {
      const NDRange range = range_of(2, {64, groups * 8, 1}, {16, 8, 1});
      const Cut cut(range, wanted_slices);
      std::size_t before = SIZE_MAX;
      for (std::size_t s = 0; s < cut.count(); ++s) {
        const std::size_t units = cut.slice(s).global[1] / 8;
        EXPECT_TRUE(units == groups / wanted_slices || units == groups / wanted_slices + 1);
        EXPECT_LE(units, before);
        before = units;
      }
    }
  }
}

TEST(Cut, LayersDifferByOneSliceAndTheirSlicesByOneGroup) {
  const NDRange range = range_of(2, {5120, 5120, 1}, {16, 16, 1});
  for (const std::size_t wanted_slices : {321, 500, 640, 777, 5000}) {
    const Cut cut(range, wanted_slices);
    ASSERT_EQ(cut.count(), wanted_slices);
    std::vector<std::size_t> slices_of_layer(320);
    for (std::size_t s = 0; s < cut.count(); ++s) {
      const Slice slice = cut.slice(s);
      EXPECT_EQ(slice.global[1], 16U);
      ++slices_of_layer[slice.offset[1] / 16];
    }
    for (const std::size_t slices : slices_of_layer) {
      EXPECT_TRUE(slices == wanted_slices / 320 || slices == wanted_slices / 320 + 1);
    }
  }
}

TEST(Cut, CutsTheOutermostDimensionWithSeveralGroups) {
  const Cut cut(range_of(3, {64, 64, 8}, {8, 8, 8}), 4);
  for (std::size_t s = 0; s < cut.count(); ++s) {
    EXPECT_EQ(cut.slice(s).global[0], 64U);
    EXPECT_EQ(cut.slice(s).global[1], 16U);
    EXPECT_EQ(cut.slice(s).global[2], 8U);
  }
}

TEST(Cut, PartialLastGroupIsInTheLastSlice) {
  const Cut cut(range_of(1, {103, 1, 1}, {10, 1, 1}), 4);
  EXPECT_EQ(cut.count(), 4U);
  for (std::size_t s = 0; s + 1 < cut.count(); ++s) EXPECT_EQ(cut.slice(s).global[0] % 10, 0U);
  EXPECT_EQ(cut.slice(3).offset[0] + cut.slice(3).global[0], 103U);
}

TEST(Cut, ReportsWhetherThePartialGroupIsSeparate) {
  using SmallerGroup = Cut::SmallerGroup;
  EXPECT_EQ(Cut(range_of(1, {100, 1, 1}, {10, 1, 1}), 4).uneven(), SmallerGroup::none);
  EXPECT_EQ(Cut(range_of(1, {103, 1, 1}, {10, 1, 1}), 4).uneven(), SmallerGroup::shared_slice);
  EXPECT_EQ(Cut(range_of(1, {103, 1, 1}, {10, 1, 1}), 6).uneven(), SmallerGroup::alone);
  EXPECT_EQ(Cut(range_of(2, {103, 40, 1}, {10, 10, 1}), 4).uneven(), SmallerGroup::none)
      << "the dimension is not cut";
  EXPECT_EQ(Cut(range_of(2, {103, 40, 1}, {10, 10, 1}), 8).uneven(), SmallerGroup::shared_slice);
  EXPECT_EQ(Cut(range_of(2, {100, 43, 1}, {10, 10, 1}), 8).uneven(), SmallerGroup::alone)
      << "a layer of its own";
  for (std::size_t n = 11; n < 400; ++n) {
    for (std::size_t wanted_slices = 2; wanted_slices < 45; ++wanted_slices) {
      const Cut cut(range_of(1, {n, 1, 1}, {10, 1, 1}), wanted_slices);
      const bool alone = n % 10 != 0 && cut.count() > 1 && cut.slice(cut.count() - 1).global[0] < 10;
      EXPECT_TRUE(!alone || cut.uneven() == SmallerGroup::alone) << n << " in " << wanted_slices;
    }
  }
}

TEST(Cut, HugeSizesDoNotOverflow) {
  constexpr std::size_t kHuge = SIZE_MAX - 7;
  const Cut cut(range_of(1, {kHuge, 1, 1}, {64, 1, 1}), 1000);
  std::size_t next = 0;
  for (std::size_t s = 0; s < cut.count(); ++s) {
    EXPECT_EQ(cut.slice(s).offset[0], next);
    next += cut.slice(s).global[0];
  }
  EXPECT_EQ(next, kHuge);
  EXPECT_EQ(items({kHuge, 2, 1}), SIZE_MAX);
}

}  // namespace
}  // namespace cleave::plan
