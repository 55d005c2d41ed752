#include "plan/tag.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

std::optional<Tag> tag_of(const NDRange& range, std::size_t slices) {
  return Tag::of(range, Cut(range, slices));
}

// The low 32 bits, and that the rest is their sign.
std::uint32_t bits(const NDRange& range, std::size_t slices, std::size_t slice) {
  const Cut cut(range, slices);
  const std::size_t offset = Tag::of(range, cut)->offset(cut.slice(slice));
  EXPECT_EQ(offset, static_cast<std::size_t>(std::int64_t{static_cast<std::int32_t>(offset)}));
  return static_cast<std::uint32_t>(offset);
}

constexpr std::uint32_t kTag = 0x80000000U;

TEST(Tag, EncodesDimensionsGroupsAndOffset) {
  const NDRange line{1, {5, 0, 0}, {80, 1, 1}, {8, 1, 1}};
  EXPECT_EQ(bits(line, 5, 0), kTag | 1U << 29U | 1U << 28U | 1U << 26U | 10U);
  EXPECT_EQ(bits(line, 5, 2), kTag | 1U << 29U | 1U << 28U | 1U << 26U | 4U << 13U | 10U);
  const NDRange plane{2, {0, 0, 0}, {8, 20, 1}, {4, 2, 1}};
  EXPECT_EQ(bits(plane, 2, 1), kTag | 2U << 29U | 1U << 28U | 2U << 26U | 5U << 13U | 10U);
}

TEST(Tag, OfManyGroupsEncodesOnlyTheTotal) {
  const NDRange line{1, {0, 0, 0}, {8192, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(bits(line, 2, 1), kTag | 1U << 29U | 1U << 26U | 8192U);
  NDRange moved = line;
  moved.offset[0] = 1;
  EXPECT_FALSE(tag_of(moved, 2));
  NDRange large = line;
  large.global[0] = std::size_t{1} << 26U;
  EXPECT_FALSE(tag_of(large, 2));
  large.global[0] -= 1;
  EXPECT_TRUE(tag_of(large, 2));
}

TEST(Tag, OfBoxesEncodesBothDimensions) {
  const NDRange plane{2, {0, 0, 0}, {16, 4, 1}, {4, 2, 1}};
  EXPECT_EQ(bits(plane, 5, 3), kTag | 2U << 29U | 3U << 26U | 2U << 13U | 4U);
  NDRange moved = plane;
  moved.offset[0] = 1;
  EXPECT_FALSE(tag_of(moved, 5));
  EXPECT_TRUE(tag_of(moved, 2)) << "only the outer dimension is cut";
}

TEST(Tag, NeedsAFreeThirdDimension) {
  EXPECT_TRUE(tag_of({3, {0, 0, 0}, {8, 8, 1}, {4, 4, 1}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 8, 2}, {4, 4, 1}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, 1}, {8, 8, 1}, {4, 4, 1}}, 2));
}

TEST(Tag, NeedsUniformGroupsInTheCutDimension) {
  EXPECT_FALSE(tag_of({1, {0, 0, 0}, {81, 1, 1}, {8, 1, 1}}, 2));
  EXPECT_TRUE(tag_of({2, {0, 0, 0}, {9, 8, 1}, {4, 4, 1}}, 2));
  EXPECT_FALSE(tag_of({2, {0, 0, 0}, {9, 8, 1}, {4, 4, 1}}, 3));
}

}  // namespace
}  // namespace cleave::plan
