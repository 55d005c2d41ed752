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

TEST(Tag, OfAVolumeHoldsTheSlicesBegin) {
  const NDRange volume{3, {7, 9, 0}, {8, 8, 10}, {4, 4, 2}};
  EXPECT_EQ(bits(volume, 5, 0), kTag | 4U << 26U | 5U << 13U);
  EXPECT_EQ(bits(volume, 5, 3), kTag | 4U << 26U | 5U << 13U | 6U);
  const NDRange moved{3, {7, 0, 5}, {8, 8, 1}, {4, 2, 1}};
  EXPECT_EQ(bits(moved, 2, 1), kTag | 2U << 26U | 4U << 13U | 5U) << "the program's own offset";
}

TEST(Tag, OfAVolumeEncodesEachDimensionThatIsCut) {
  EXPECT_EQ(bits({3, {7, 0, 0}, {8, 12, 4}, {4, 4, 2}}, 5, 4), kTag | 6U << 26U | 2U << 18U | 3U << 10U | 2U);
  EXPECT_EQ(bits({3, {0, 0, 0}, {12, 4, 4}, {4, 2, 2}}, 7, 6),
            kTag | 7U << 26U | 2U << 20U | 2U << 14U | 3U << 8U | 2U);
}

TEST(Tag, OfAVolumeNeedsRoomForIdsAndGroups) {
  EXPECT_TRUE(tag_of({3, {0, 0, 0}, {8, 8, 8192}, {4, 4, 2}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 8, 8194}, {4, 4, 2}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 8, 8192}, {4, 4, 1}}, 2)) << "8192 work-groups";
  EXPECT_TRUE(tag_of({3, {0, 0, 8190}, {8, 8, 2}, {4, 4, 2}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, 8191}, {8, 8, 2}, {4, 4, 2}}, 2));
  EXPECT_FALSE(tag_of({3, {0, 0, ~std::size_t{0}}, {8, 8, 2}, {4, 4, 2}}, 2));
  EXPECT_TRUE(tag_of({3, {0, 0, 0}, {8, 255, 1024}, {4, 1, 512}}, 3));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 256, 1024}, {4, 1, 512}}, 3));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 255, 1026}, {4, 1, 513}}, 3));
  EXPECT_TRUE(tag_of({3, {0, 0, 0}, {63, 2, 256}, {1, 1, 128}}, 7));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {64, 2, 256}, {1, 1, 128}}, 7));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {63, 2, 258}, {1, 1, 129}}, 7));
}

TEST(Tag, OfAVolumeNeedsOwnOffsetsOnlyInUncutDimensions) {
  EXPECT_TRUE(tag_of({3, {1, 1, 0}, {8, 8, 4}, {4, 4, 1}}, 4));
  EXPECT_FALSE(tag_of({3, {0, 0, 1}, {8, 8, 4}, {4, 4, 1}}, 4));
  EXPECT_FALSE(tag_of({3, {0, 1, 0}, {8, 8, 4}, {4, 4, 4}}, 2));
}

TEST(Tag, OfAVolumeNeedsUniformGroupsInTheThirdDimension) {
  EXPECT_TRUE(tag_of({3, {0, 0, 0}, {8, 8, 6}, {4, 4, 3}}, 4));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 8, 5}, {4, 4, 3}}, 4));
  EXPECT_FALSE(tag_of({3, {0, 0, 0}, {8, 8, 2}, {4, 4, 3}}, 2)) << "even where it is not cut";
}

// The third dimension of the launch, as far as the tag goes.
TEST(Tag, TellsWhereASliceBegins) {
  for (const NDRange& range :
       {NDRange{2, {0, 0, 0}, {8, 20, 1}, {4, 2, 1}}, NDRange{3, {0, 0, 0}, {8, 8, 10}, {4, 4, 2}},
        NDRange{3, {0, 0, 0}, {12, 4, 4}, {4, 2, 2}}, NDRange{3, {0, 0, 5}, {8, 8, 1}, {4, 2, 1}}}) {
    const Cut cut(range, 4);
    const Tag tag = *Tag::of(range, cut);
    for (std::size_t i = 0; i < cut.count(); ++i)
      EXPECT_EQ(Tag::begin(tag.offset(cut.slice(i))), cut.slice(i).offset[2]) << i;
  }
  for (const std::size_t plain : {std::size_t{0}, std::size_t{0x80000001U}, std::size_t{1} << 63U})
    EXPECT_EQ(Tag::begin(plain), plain);
}

TEST(Tag, NeedsUniformGroupsInTheCutDimension) {
  EXPECT_FALSE(tag_of({1, {0, 0, 0}, {81, 1, 1}, {8, 1, 1}}, 2));
  EXPECT_TRUE(tag_of({2, {0, 0, 0}, {9, 8, 1}, {4, 4, 1}}, 2));
  EXPECT_FALSE(tag_of({2, {0, 0, 0}, {9, 8, 1}, {4, 4, 1}}, 3));
}

}  // namespace
}  // namespace cleave::plan
