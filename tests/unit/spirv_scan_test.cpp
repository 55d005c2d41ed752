#include "kernels/facts/spirv_scan.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <spirv/unified1/spirv.hpp11>

namespace cleave::kernels {

void PrintTo(const Scan& scan, std::ostream* out) {
  *out << "sees " << scan.reads_ndrange << " opaque " << scan.opaque << " talks " << scan.communicates
       << " sees_groups " << scan.reads_work_group;
}

namespace {

using spv::BuiltIn;
using spv::Decoration;
using spv::ExecutionMode;
using spv::Op;
using Word = std::uint32_t;
using Words = std::vector<Word>;

constexpr Scan kHarmless{};
constexpr Scan kSees{.reads_ndrange = true};
constexpr Scan kOpaque{.opaque = true};
constexpr Scan kTalks{.communicates = true, .may_wait = true};
constexpr Scan kSeesGroups{.reads_work_group = true};
constexpr Scan kKeeps{.keeps_state = true};
constexpr Scan kSeesBoth{.reads_ndrange = true, .reads_work_group = true};

template <typename Enumerant>
Word number(Enumerant enumerant) {
  return static_cast<Word>(enumerant);
}

Words text(std::string_view text) {
  Words words(text.size() / sizeof(Word) + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    words[i / sizeof(Word)] |= Word{static_cast<unsigned char>(text[i])} << (i % sizeof(Word) * 8);
  }
  return words;
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words instruction(Op op, const Words& operands) {
  return Words{static_cast<Word>(operands.size() + 1) << spv::WordCountShift | number(op)} + operands;
}

Words decorate(BuiltIn variable) {
  return instruction(Op::OpDecorate, {20, number(Decoration::BuiltIn), number(variable)});
}

Words linkage(std::string_view symbol, spv::LinkageType type) {
  return instruction(Op::OpDecorate,
                     Words{20, number(Decoration::LinkageAttributes)} + text(symbol) + Words{number(type)});
}
Words import(std::string_view symbol) { return linkage(symbol, spv::LinkageType::Import); }

// Ids 1 to 5 are scopes, from device on.
Words scopes() {
  Words words = instruction(Op::OpTypeInt, {10, 32, 0});
  for (Word id = 1; id <= 5; ++id) words = words + instruction(Op::OpConstant, {10, id, id});
  return words;
}

Words header(Word version = 0x00010200) { return {spv::MagicNumber, version, 0, 100, 0}; }

// What a compiler makes of a kernel that writes its arguments.
Words plain() {
  return header() + instruction(Op::OpCapability, {number(spv::Capability::Kernel)}) +
         instruction(Op::OpExtInstImport, Words{11} + text("OpenCL.std")) +
         instruction(Op::OpMemoryModel, {2, number(spv::MemoryModel::OpenCL)}) +
         instruction(Op::OpEntryPoint,
                     Words{number(spv::ExecutionModel::Kernel), 30} + text("mm") + Words{20}) +
         instruction(Op::OpExecutionMode, {30, number(ExecutionMode::ContractionOff)}) +
         instruction(Op::OpName, Words{20} + text("__spirv_BuiltInGlobalInvocationId")) +
         decorate(BuiltIn::GlobalInvocationId) + import("__spirv_BuiltInGlobalInvocationId") +
         linkage("mm", spv::LinkageType::Export) + scopes() +
         instruction(Op::OpTypePointer, {12, number(spv::StorageClass::CrossWorkgroup), 10}) +
         instruction(Op::OpFunction, {13, 30, 0, 14}) + instruction(Op::OpLabel, {31}) +
         instruction(Op::OpLoad, {10, 32, 20, number(spv::MemoryAccessMask::Aligned), 32}) +
         instruction(Op::OpExtInst, {10, 33, 11, 0, 32}) +
         instruction(Op::OpStore, {34, 33, number(spv::MemoryAccessMask::Aligned), 4}) +
         instruction(Op::OpControlBarrier, {2, 2, 40}) + instruction(Op::OpReturn, {}) +
         instruction(Op::OpFunctionEnd, {});
}

std::optional<Scan> scan(const Words& words) { return scan_spirv(std::as_bytes(std::span(words))); }

// The constructs that lead to the findings in a module.
std::vector<std::string> constructs(const Words& words) {
  Causes causes;
  scan_spirv(std::as_bytes(std::span(words)), &causes);
  std::vector<std::string> all;
  for (const Cause& cause : causes.list()) all.push_back(cause.construct);
  return all;
}

TEST(SpirvCause, NamesTheFirstConstructOfEachFinding) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(constructs(plain()), Names{});
  EXPECT_EQ(constructs(plain() + decorate(BuiltIn::LocalInvocationId) + decorate(BuiltIn::NumWorkgroups) +
                       decorate(BuiltIn::WorkDim)),
            Names{"NumWorkgroups"});
  EXPECT_EQ(constructs(plain() + import("_Z12get_group_idj")), Names{"get_group_id"});
  EXPECT_EQ(constructs(plain() + import("sneaky\n`name")), Names{"sneaky??name"});
  EXPECT_EQ(constructs(plain() + instruction(Op::OpAtomicIAdd, {1, 2, 3, 4, 5, 6}) +
                       instruction(Op::OpEnqueueMarker, {1, 2, 3, 4, 5, 6})),
            (Names{"opcode 234", "opcode 291"}));
  Words newer = plain();
  newer[1] = 0x00020000;
  EXPECT_EQ(constructs(newer), (Names{3, "a header that Cleave does not know"}));
}

struct Case {
  Words instructions;
  Scan meaning;
};

// Names the test: "71.20.11.26" is OpDecorate with its operands.
void PrintTo(const Case& tried, std::ostream* out) {
  Word left = 0;
  for (const Word word : tried.instructions) {
    const bool first = left == 0;
    if (first) left = word >> spv::WordCountShift;
    *out << (first ? "_" : ".") << (first ? word & spv::OpCodeMask : word);
    --left;
  }
}

class SpirvMeaning : public testing::TestWithParam<Case> {};

TEST_P(SpirvMeaning, IsFoundInASingleInstruction) {
  EXPECT_EQ(scan(header() + GetParam().instructions), GetParam().meaning);
}

TEST_P(SpirvMeaning, IsFoundInAModule) {
  EXPECT_EQ(scan(plain() + GetParam().instructions), GetParam().meaning);
}

TEST_P(SpirvMeaning, TruncatedInstructionIsOpaque) {
  Words module = header() + GetParam().instructions;
  module.pop_back();
  EXPECT_EQ(scan(module).value_or(kHarmless), kHarmless);
}

INSTANTIATE_TEST_SUITE_P(
    Variables, SpirvMeaning,
    testing::Values(Case{decorate(BuiltIn::GlobalInvocationId), kHarmless},
                    Case{decorate(BuiltIn::LocalInvocationId), kSeesGroups},
                    Case{decorate(BuiltIn::LocalInvocationIndex), kSeesGroups},
                    Case{decorate(BuiltIn::WorkgroupSize), kSeesGroups},
                    Case{decorate(BuiltIn::EnqueuedWorkgroupSize), kSeesGroups},
                    Case{decorate(BuiltIn::SubgroupId), kSeesGroups},
                    Case{decorate(BuiltIn::SubgroupEqMask), kSeesGroups},
                    Case{decorate(BuiltIn::NumWorkgroups), kSeesBoth},
                    Case{decorate(BuiltIn::WorkgroupId), kSeesBoth},
                    Case{decorate(BuiltIn::GlobalSize), kSees}, Case{decorate(BuiltIn::GlobalOffset), kSees},
                    Case{decorate(BuiltIn::GlobalLinearId), kSees}, Case{decorate(BuiltIn::WorkDim), kSees},
                    Case{decorate(BuiltIn::SMIDNV), kSees}, Case{decorate(static_cast<BuiltIn>(9999)), kSees},
                    Case{instruction(Op::OpMemberDecorate,
                                     {20, 0, number(Decoration::BuiltIn), number(BuiltIn::WorkgroupId)}),
                         kSeesBoth},
                    Case{decorate(BuiltIn::WorkgroupId) + instruction(Op::OpDecorationGroup, {20}) +
                             instruction(Op::OpGroupDecorate, {20, 21}),
                         kSeesBoth},
                    Case{instruction(Op::OpDecorateId,
                                     {20, number(Decoration::BuiltIn), number(BuiltIn::GlobalInvocationId)}),
                         kOpaque}));

INSTANTIATE_TEST_SUITE_P(
    Imports, SpirvMeaning,
    testing::Values(
        Case{import("_Z13get_global_idj"), kHarmless}, Case{import("printf"), kHarmless},
        Case{import("_Z33__spirv_BuiltInGlobalInvocationIdi"), kHarmless},
        Case{import("_Z12get_local_idj"), kSeesGroups},
        Case{import("__spirv_BuiltInWorkgroupSize"), kSeesGroups},
        Case{import("_Z12get_group_idj"), kSeesBoth}, Case{import("get_group_id"), kSeesBoth},
        Case{import("_Z19get_group_linear_idv"), kSeesBoth}, Case{import("_Z12get_work_dimv"), kSees},
        Case{import("__spirv_BuiltInGlobalOffset"), kSees}, Case{import("_Z17get_default_queuev"), kOpaque},
        Case{import("other"), kOpaque}, Case{import(""), kOpaque}, Case{import("_Z"), kOpaque},
        Case{import("_Z13"), kOpaque}, Case{import("_Z99get_global_idj"), kOpaque},
        Case{import("_Z99999999999999999999get_global_idj"), kOpaque},
        Case{import("_Z13get_global_idPj"), kOpaque}, Case{import("_Z14get_global_idsj"), kOpaque},
        Case{import("__spirv_BuiltInSMIDNV"), kOpaque},
        Case{linkage("_Z12get_group_idj", spv::LinkageType::Export), kHarmless}));

INSTANTIATE_TEST_SUITE_P(
    Talking, SpirvMeaning,
    testing::Values(
        Case{instruction(Op::OpAtomicIAdd, {10, 40, 41, 2, 42, 43}), kTalks},
        Case{instruction(Op::OpAtomicFlagClear, {41, 2, 42}), kTalks},
        Case{instruction(Op::OpAtomicFAddEXT, {10, 40, 41, 2, 42, 43}), kTalks},
        Case{instruction(Op::OpTypePipe, {40, 0}), kTalks},
        Case{instruction(Op::OpReadPipe, {10, 40, 41, 42, 43, 44}), kTalks},
        Case{instruction(Op::OpDecorate, {20, number(Decoration::Volatile)}), kTalks},
        Case{instruction(Op::OpMemberDecorate, {20, 1, number(Decoration::Coherent)}), kTalks},
        Case{instruction(Op::OpLoad, {10, 40, 41, 1}), kTalks},
        Case{instruction(Op::OpStore, {40, 41, 3, 4}), kTalks},
        Case{instruction(Op::OpStore, {40, 41}), kHarmless},
        Case{instruction(Op::OpCopyMemory, {40, 41, 2, 4, 3, 4}), kTalks},
        Case{instruction(Op::OpCopyMemory, {40, 41, 2, 4, 2, 4}), kHarmless},
        Case{instruction(Op::OpCopyMemorySized, {40, 41, 42, 4, 1}), kTalks},
        Case{instruction(Op::OpImageWrite, {40, 41, 42, 0x800}), kTalks},
        Case{instruction(Op::OpImageRead, {10, 40, 41, 42, 0x1000}), kHarmless},
        Case{instruction(Op::OpControlBarrier, {60, 60, 61}), kTalks},
        Case{scopes() + instruction(Op::OpControlBarrier, {2, 2, 61}), kHarmless},
        Case{scopes() + instruction(Op::OpControlBarrier, {2, 1, 61}), kTalks},
        Case{scopes() + instruction(Op::OpControlBarrier, {1, 2, 61}), kTalks},
        Case{scopes() + instruction(Op::OpControlBarrier, {2, 5, 61}), kTalks},
        Case{scopes() + instruction(Op::OpMemoryBarrier, {4, 61}), kHarmless},
        Case{scopes() + instruction(Op::OpMemoryBarrier, {1, 61}), kTalks},
        Case{scopes() + instruction(Op::OpMemoryNamedBarrier, {40, 2, 61}), kHarmless},
        Case{scopes() + instruction(Op::OpMemoryNamedBarrier, {40, 1, 61}), kTalks},
        Case{instruction(Op::OpSpecConstant, {10, 60, 2}) + instruction(Op::OpMemoryBarrier, {60, 61}),
             kTalks},
        Case{instruction(Op::OpConstant, {10, 60, 2, 0}) + instruction(Op::OpMemoryBarrier, {60, 61}),
             kTalks},
        Case{instruction(Op::OpMemoryBarrier, {0xFFFFFFFF, 61}), kTalks}));

INSTANTIATE_TEST_SUITE_P(
    Groups, SpirvMeaning,
    testing::Values(
        Case{instruction(Op::OpGroupIAdd, {10, 40, 2, 0, 41}), kSeesGroups},
        Case{instruction(Op::OpSubgroupBallotKHR, {10, 40, 41}), kSeesGroups},
        Case{instruction(Op::OpGroupNonUniformElect, {10, 40, 3}), kSeesGroups},
        Case{instruction(Op::OpVariable, {12, 40, number(spv::StorageClass::CrossWorkgroup)}), kKeeps},
        Case{instruction(Op::OpTypePointer, {40, number(spv::StorageClass::Workgroup), 10}), kSeesGroups}));

INSTANTIATE_TEST_SUITE_P(
    Opaque, SpirvMeaning,
    testing::Values(
        Case{instruction(Op::OpEnqueueKernel, Words(12, 40)), kOpaque},
        Case{instruction(Op::OpEnqueueMarker, Words(6, 40)), kOpaque},
        Case{instruction(Op::OpGetDefaultQueue, {10, 40}), kOpaque},
        Case{instruction(Op::OpBuildNDRange, Words(5, 40)), kOpaque},
        Case{instruction(Op::OpGetKernelNDrangeSubGroupCount, Words(7, 40)), kOpaque},
        Case{instruction(Op::OpGetKernelMaxNumSubgroups, Words(6, 40)), kOpaque},
        Case{instruction(Op::OpTypeQueue, {40}), kOpaque},
        Case{instruction(Op::OpTypeDeviceEvent, {40}), kOpaque},
        Case{instruction(Op::OpAsmCallINTEL, {10, 40, 41}), kOpaque},
        Case{instruction(Op::OpFunctionPointerCallINTEL, {10, 40, 41}), kOpaque},
        Case{instruction(Op::OpReadClockKHR, {10, 40, 2}), kOpaque},
        Case{instruction(static_cast<Op>(390), {}), kOpaque},
        Case{instruction(static_cast<Op>(0xFFFF), {}), kOpaque},
        Case{instruction(Op::OpExecutionMode, {30, number(ExecutionMode::NoGlobalOffsetINTEL)}), kOpaque},
        Case{instruction(Op::OpExecutionMode, {30, number(ExecutionMode::MaxWorkDimINTEL), 1}), kOpaque},
        Case{instruction(Op::OpExecutionMode, {30, number(ExecutionMode::Initializer)}), kOpaque},
        Case{instruction(Op::OpExecutionModeId, {30, number(ExecutionMode::LocalSizeId), 1, 1, 1}),
             kHarmless},
        Case{instruction(Op::OpDecorate, {20, number(Decoration::VectorComputeFunctionINTEL)}), kOpaque},
        Case{instruction(Op::OpDecorate, {20, number(Decoration::NoSignedWrap)}), kHarmless},
        Case{instruction(Op::OpDecorateString, Words{20, number(Decoration::UserSemantic)} + text("x")),
             kHarmless},
        Case{instruction(Op::OpExtInstImport, Words{40} + text("GLSL.std.450")), kOpaque},
        Case{instruction(Op::OpExtInstImport, Words{40} + text("NonSemantic.DebugPrintf")), kHarmless},
        Case{instruction(Op::OpMemoryModel, {2, number(spv::MemoryModel::Vulkan)}), kOpaque},
        Case{instruction(Op::OpEntryPoint, Words{number(spv::ExecutionModel::GLCompute), 30} + text("main")),
             kOpaque}));

TEST(Spirv, PlainModuleIsHarmless) { EXPECT_EQ(scan(plain()), kHarmless); }

// A barrier of global memory is how groups may wait for each other, if there is a loop. 0x100 is local memory, 0x200 global.
TEST(Spirv, GlobalBarrierCommunicatesInAModuleWithALoop) {
  const Words jump_back = instruction(Op::OpLabel, {31}) + instruction(Op::OpBranch, {31});
  const Words loops[] = {jump_back, instruction(Op::OpLoopMerge, {50, 51, 0}),
                         instruction(Op::OpLabel, {31}) + instruction(Op::OpBranchConditional, {40, 50, 31}),
                         instruction(Op::OpLabel, {31}) + instruction(Op::OpSwitch, {40, 50, 1, 31})};
  const auto communicates = [](Word semantics, const Words& loop) {
    const auto found = scan(header() + scopes() + instruction(Op::OpConstant, {10, 61, semantics}) +
                            instruction(Op::OpControlBarrier, {2, 2, 61}) + loop);
    return found && found->communicates;
  };
  for (const Words& loop : loops) {
    EXPECT_TRUE(communicates(0x210, loop));
    EXPECT_TRUE(communicates(0x310, loop));
    EXPECT_FALSE(communicates(0x110, loop));
    EXPECT_TRUE(scan(plain() + loop)->communicates) << "what it orders is not known";
  }
  EXPECT_FALSE(communicates(0x310, instruction(Op::OpLabel, {31}) + instruction(Op::OpBranch, {32})));
  const auto causes = constructs(plain() + jump_back);
  EXPECT_EQ(causes, (std::vector<std::string>{"a barrier of global memory"}));
}

TEST(Spirv, ModuleMayBeUnaligned) {
  const Words module = plain() + decorate(BuiltIn::WorkDim);
  std::vector<std::byte> bytes(module.size() * sizeof(Word) + 1);
  std::memcpy(bytes.data() + 1, module.data(), bytes.size() - 1);
  EXPECT_EQ(scan_spirv(std::span(bytes).subspan(1)), kSees);
}

TEST(Spirv, NonModuleIsEmpty) {
  EXPECT_FALSE(scan({}));
  EXPECT_FALSE(scan_spirv({}));
  EXPECT_FALSE(scan({spv::MagicNumber}));
  EXPECT_FALSE(scan(Words{0xDEC04342} + Words(100, 0x00010000)));  // LLVM's bitcode
  EXPECT_FALSE(scan(plain() + Words{0}));
  EXPECT_TRUE(scan(header()));
}

TEST(Spirv, SizeMustBeAMultipleOfFour) {
  const Words module = plain();
  const auto bytes = std::as_bytes(std::span(module));
  for (std::size_t missing = 1; missing < sizeof(Word); ++missing) {
    EXPECT_FALSE(scan_spirv(bytes.first(bytes.size() - missing)));
  }
}

TEST(Spirv, UnknownHeadersAreOpaque) {
  constexpr Scan kEverything{.reads_ndrange = true,
                             .opaque = true,
                             .communicates = true,
                             .reads_work_group = true,
                             .may_wait = true};
  for (const Word version : {0x00000000U, 0x00010700U, 0x00020000U, 0x01010000U, 0x00010201U}) {
    EXPECT_EQ(scan(header(version)), kEverything) << std::hex << version;
  }
  for (const Word version : {0x00010000U, 0x00010600U}) EXPECT_EQ(scan(header(version)), kHarmless);
  EXPECT_EQ(scan({spv::MagicNumber, 0x00010000, 0, 0xFFFFFFFF, 0}),
            kEverything);  // more ids than there may be
  EXPECT_EQ(scan({spv::MagicNumber, 0x00010000, 0, 100, 1}), kEverything);
  EXPECT_EQ(scan({0x03022307, 0x00000100, 0, 100, 0}), kEverything);  // the other byte order
}

TEST(Spirv, WordCountsMustStayInsideTheModule) {
  EXPECT_FALSE(scan(header() + Words{number(Op::OpNop)}));
  EXPECT_FALSE(scan(header() + Words{2U << spv::WordCountShift | number(Op::OpNop)}));
  EXPECT_FALSE(scan(header() + Words{0xFFFFU << spv::WordCountShift | number(Op::OpNop), 0, 0}));
  EXPECT_EQ(scan(header() + Words{3U << spv::WordCountShift | number(Op::OpNop), 0, 0}), kHarmless);
}

TEST(Spirv, RequiredOperandsMustBePresent) {
  const auto unreadable = [](Op op, const Words& operands) {
    return !scan(header() + instruction(op, operands));
  };
  const Word built_in = number(Decoration::BuiltIn);
  const Word linked = number(Decoration::LinkageAttributes);
  EXPECT_TRUE(unreadable(Op::OpDecorate, {20}));
  EXPECT_TRUE(unreadable(Op::OpDecorate, {20, built_in}));
  EXPECT_TRUE(unreadable(Op::OpMemberDecorate, {20, 0, built_in}));
  EXPECT_TRUE(unreadable(Op::OpControlBarrier, {2}));
  EXPECT_TRUE(unreadable(Op::OpExecutionMode, {30}));
  EXPECT_TRUE(unreadable(Op::OpConstant, {10, 5}));
  EXPECT_TRUE(unreadable(Op::OpConstant, {10, 100, 5}));  // an id beyond the bound
  EXPECT_TRUE(unreadable(Op::OpDecorate, {20, linked}));
  EXPECT_TRUE(unreadable(Op::OpDecorate, Words{20, linked} + text("printf")));  // of which linkage?
}

TEST(Spirv, StringsMustTerminate) {
  const Word linked = number(Decoration::LinkageAttributes);
  const Word import_type = number(spv::LinkageType::Import);
  constexpr Word kFourCharacters = 0x66666666;
  const auto scan_one = [](const Words& operands) {
    return scan(header() + instruction(Op::OpDecorate, operands));
  };
  EXPECT_FALSE(scan_one({20, linked, kFourCharacters, kFourCharacters}));
  EXPECT_TRUE(scan_one({20, linked, kFourCharacters, 0, import_type}));
  EXPECT_FALSE(scan_one({20, linked, kFourCharacters, 0x66660066, import_type}));
  EXPECT_FALSE(scan(header() + instruction(Op::OpExtInstImport, {1, kFourCharacters})));
}

TEST(Spirv, TruncationNeverAddsFindings) {
  const Words module = plain() + decorate(BuiltIn::WorkgroupId) +
                       instruction(Op::OpAtomicIAdd, {10, 40, 41, 2, 42, 43}) + import("other");
  for (std::size_t size = 0; size < module.size(); ++size) {
    // On a heap block of just that size, so that a sanitizer sees a word too many.
    const Words cut(module.begin(), module.begin() + static_cast<std::ptrdiff_t>(size));
    const auto found = scan(cut).value_or(kHarmless);
    EXPECT_TRUE(size > plain().size() || found == kHarmless) << size;
    EXPECT_FALSE(found.opaque) << size;
  }
}

TEST(Spirv, RandomBytesAreHandled) {
  std::mt19937 random(1);
  const Words sound = plain() + decorate(BuiltIn::WorkgroupId);
  for (int round = 0; round < 5'000; ++round) {
    Words module = sound;
    const auto changes = 1 + random() % 8;
    for (std::size_t i = 0; i < changes; ++i) module[random() % module.size()] ^= Word{1} << random() % 32;
    if (round % 2 == 0) module.resize(random() % module.size());
    module.shrink_to_fit();
    EXPECT_EQ(scan(module), scan(module));
  }
}

}  // namespace
}  // namespace cleave::kernels
