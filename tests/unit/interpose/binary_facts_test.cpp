#include "interpose/programs/binary_facts.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace cleave::interpose {
namespace {

using kernels::Cause;
using kernels::Causes;
using kernels::Scan;
using Scans = BinaryFacts::Scans;

BinaryFacts facts_with(const Scan& whole, bool tagged = false, std::map<std::string, Scan> kernels = {}) {
  BinaryFacts facts;
  facts.scans = std::make_shared<const Scans>(Scans{whole, std::move(kernels)});
  facts.tagged = facts.may_have_prelude = tagged;
  return facts;
}

TEST(BinaryFacts, AreReadAsTheyWereWritten) {
  BinaryFacts unknown;
  unknown.may_have_prelude = true;
  BinaryFacts many = facts_with(Scan::worst_case(), true,
                                {{"a", {.reads_ndrange = true}},
                                 {"b_2", {.keeps_state = true}},
                                 {"c", {.opaque = true, .communicates = true}}});
  many.origin = ~std::uint64_t{0};
  many.no_prelude = NoPrelude::il;
  for (const BinaryFacts& facts : {BinaryFacts{}, unknown, facts_with({}), many}) {
    const auto read = from_text(to_text(facts));
    ASSERT_TRUE(read);
    EXPECT_TRUE(*read == facts) << to_text(facts);
  }
}

Causes causes_of(const Scan& scan, const std::string& construct, const std::string& file = {}) {
  Causes causes;
  causes.note(scan, {.way = Cause::Way::unreadable, .construct = {}, .file = file, .line = 7}, construct);
  return causes;
}

TEST(BinaryFacts, CausesAreReadAsTheyWereWritten) {
  const Scans scans{{.opaque = true},
                    {{"a", {.communicates = true}}},
                    {{"", causes_of({.opaque = true}, "asm (\"\")", "a file")},
                     {"a", causes_of({.keeps_state = true, .adds_to_global = true}, "")}}};
  BinaryFacts facts;
  facts.scans = std::make_shared<const Scans>(scans);
  const auto read = from_text(to_text(facts));
  ASSERT_TRUE(read && read->scans);
  EXPECT_TRUE(*read == facts) << to_text(facts);
}

TEST(BinaryFacts, CausesThatALineCannotHoldAreLeftOut) {
  BinaryFacts facts = facts_with({.opaque = true});
  const std::string without = to_text(facts);
  for (const char* construct : {"a\tb", "a\nprogram 0000000000000", "\x7f"}) {
    facts.scans = std::make_shared<const Scans>(
        Scans{{.opaque = true}, {}, {{"", causes_of({.opaque = true}, construct)}}});
    EXPECT_EQ(to_text(facts), without);
  }
}

TEST(BinaryFacts, ManyCausesDoNotMakeTheTextTooLong) {
  constexpr std::size_t kMostOfAnEntry = 40U << 10U;
  Scans scans;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "kernel" + std::to_string(i);
    scans.kernels[name] = {.opaque = true};
    scans.causes[name] = causes_of({.opaque = true}, "asm", std::string(200, 'f'));
  }
  BinaryFacts facts;
  facts.scans = std::make_shared<const Scans>(scans);
  const std::string text = to_text(facts);
  EXPECT_LT(text.size(), kMostOfAnEntry);
  const auto read = from_text(text);
  ASSERT_TRUE(read && read->scans);
  EXPECT_EQ(read->scans->kernels, scans.kernels);
  EXPECT_FALSE(read->scans->causes.empty());
}

TEST(BinaryFacts, EachFlagOfAScanIsKept) {
  const std::string all = to_text(facts_with(Scan::worst_case()));
  const std::size_t digits = all.find("11111111111\n");
  ASSERT_NE(digits, std::string::npos);
  for (std::size_t i = 0; i < 11; ++i) {
    std::string one = to_text(facts_with({}));
    one[digits + i] = '1';
    const auto read = from_text(one);
    ASSERT_TRUE(read);
    EXPECT_FALSE(read->scans->whole == Scan{}) << i;
    EXPECT_EQ(to_text(*read), one);
  }
}

TEST(BinaryFacts, OtherTextsAreRefused) {
  const std::string good = to_text(facts_with({}, true, {{"add", {}}}));
  ASSERT_TRUE(from_text(good));
  const std::string first = good.substr(0, good.find('\n') + 1);
  const std::string second = "tagged 1 prelude 1 origin 0 why 0\n";
  for (const std::string& bad : {std::string(),
                                 first,
                                 first + "tagged 1 prelude 1 origin 0\n",
                                 first + "tagged 1 prelude 1 origin 0 why 99\n",
                                 "x" + good,
                                 "cleave binary 1" + good.substr(15),
                                 first + "tagged 1 prelude 1 origin\n",
                                 first + "tagged 2 prelude 1 origin 0 why 0\n",
                                 first + "tagged 1 prelude 1 origin 0 why 0 \n",
                                 first + "tagged 1 prelude 1 origin 99999999999999999999999 why 0\n",
                                 first + second + "\n",
                                 first + second + "program 00000000000000000\n",
                                 first + second + "program 0000000000000000000\n",
                                 first + second + "program 000000000000000002\n",
                                 first + second + "kernel 000000000000000000 add\n",
                                 first + second + "program 000000000000000000",
                                 good + "kernel 000000000000000000 \n",
                                 good + "kernel 000000000000000000\n",
                                 good + "kernel 000000000000000000-b\n",
                                 good + "kernel 000000000000000000 a b\n",
                                 good + "kernel 000000000000000000 c",
                                 good + "cause 0 0 1 *\tasm\n",
                                 good + "cause 0 0 1 \tasm\t\n",
                                 good + "cause 10 0 1 *\tasm\t\n",
                                 good + "cause 0 13 1 *\tasm\t\n",
                                 good + "cause 0 0 4294967296 *\tasm\t\n",
                                 good + "cause 0 0 1*\tasm\t\n",
                                 good + "cause 0 0 *\tasm\t\n",
                                 good + "cause 0 0 1 *\tasm\tfile\tmore\n",
                                 good + "cause 0 0 1 *\tasm\t"}) {
    EXPECT_FALSE(from_text(bad)) << bad;
  }
}

TEST(BinaryFacts, AreThoseOfTheProgram) {
  cl_device_id device = reinterpret_cast<cl_device_id>(8);
  ProgramRecord program;
  program.set_source("source");
  program.scan = std::make_shared<const kernels::ProgramScan>(Scan{.reads_ndrange = true},
                                                              std::map<std::string, Scan>{{"a", Scan{}}});
  program.tagged = {device};
  const BinaryFacts facts = facts_of(program, device, {"a", "b", "not a name"});
  ASSERT_TRUE(facts.scans);
  EXPECT_TRUE(facts.tagged && facts.may_have_prelude);
  EXPECT_NE(facts.origin, 0U);
  EXPECT_EQ(facts.scans->whole, Scan{.reads_ndrange = true});
  const std::map<std::string, Scan> kernels{{"a", Scan{}}, {"b", Scan{.reads_ndrange = true}}};
  EXPECT_EQ(facts.scans->kernels, kernels);
  EXPECT_FALSE(facts_of(program, nullptr, {}).tagged) << "another device has another build";
  program.scan = nullptr;
  EXPECT_FALSE(facts_of(program, device, {"a"}).scans);
}

TEST(BinaryFacts, OfTwoBuildsWithTheSameBytesTheCarefulOnesCount) {
  const BinaryFacts plain = facts_with({.communicates = true}, false, {{"a", {.opaque = true}}});
  const BinaryFacts tagged = facts_with({.reads_ndrange = true}, true, {{"b", {}}});
  for (const BinaryFacts& both : {merge(plain, tagged), merge(tagged, plain)}) {
    EXPECT_FALSE(both.tagged);
    EXPECT_TRUE(both.may_have_prelude);
    ASSERT_TRUE(both.scans);
    const Scan whole{.reads_ndrange = true, .communicates = true};
    EXPECT_EQ(both.scans->whole, whole);
    EXPECT_EQ(both.scans->kernels.at("a"), (Scan{.reads_ndrange = true, .opaque = true}));
    EXPECT_EQ(both.scans->kernels.at("b"), (Scan{.communicates = true}));
  }
  const auto with_cause = [](const Scan& scan, const char* construct) {
    BinaryFacts facts = facts_with(scan, false, {{"a", scan}});
    facts.scans = std::make_shared<const Scans>(
        Scans{facts.scans->whole, facts.scans->kernels, {{"a", causes_of(scan, construct)}}});
    return facts;
  };
  const BinaryFacts causes =
      merge(with_cause({.opaque = true}, "asm"), with_cause({.communicates = true}, "atom_inc"));
  ASSERT_TRUE(causes.scans);
  EXPECT_EQ(causes.scans->causes.at("a").list().size(), 2U);
  EXPECT_FALSE(merge(plain, BinaryFacts{}).scans) << "of one of them nothing is known";
}

TEST(BinaryFacts, SayWhereSlicesWithTagsAreRight) {
  EXPECT_TRUE(is_correct_in_slices(facts_with({})));
  EXPECT_TRUE(is_correct_in_slices(facts_with({.reads_ndrange = true, .reads_global_id = true}, true)));
  EXPECT_FALSE(is_correct_in_slices(facts_with({.reads_ndrange = true})));
  EXPECT_FALSE(is_correct_in_slices(facts_with({.reads_global_id = true})));
  EXPECT_FALSE(is_correct_in_slices(facts_with({.opaque = true}, true)));
  EXPECT_FALSE(is_correct_in_slices(BinaryFacts{})) << "nothing is known of it";
}

}  // namespace
}  // namespace cleave::interpose
