#include "kernels/facts/spirv_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spirv/unified1/spirv.hpp11>

namespace cleave::kernels {
namespace {

using spv::BuiltIn;
using spv::Decoration;
using spv::ExecutionMode;
using spv::Op;
using Word = std::uint32_t;
using Text = std::string_view;

constexpr Scan kHarmless{};
constexpr Scan kReadsNdrange{.reads_ndrange = true};
constexpr Scan kIsOpaque{.opaque = true};
constexpr Scan kMayCommunicate{.communicates = true, .may_wait = true};
constexpr Scan kReadsWorkGroup{.reads_work_group = true};
constexpr Scan kKeepsState{.keeps_state = true};
constexpr Scan kReadsBoth{.reads_ndrange = true, .reads_work_group = true};
constexpr Word kLocalFenceSemantics = static_cast<Word>(spv::MemorySemanticsMask::WorkgroupMemory) |
                                      static_cast<Word>(spv::MemorySemanticsMask::Acquire) |
                                      static_cast<Word>(spv::MemorySemanticsMask::Release) |
                                      static_cast<Word>(spv::MemorySemanticsMask::AcquireRelease) |
                                      static_cast<Word>(spv::MemorySemanticsMask::SequentiallyConsistent);
constexpr Scan kWorstCase{
    .reads_ndrange = true, .opaque = true, .communicates = true, .reads_work_group = true, .may_wait = true};

template <typename Enumerant>
struct Row {
  Enumerant first;
  Enumerant last;
  Scan meaning = kHarmless;
};

// The instructions of SPIR-V for OpenCL; others are opaque, such as device-side enqueues. For some of them
// classify() also looks at the operands.
constexpr std::array<Row<Op>, 23> kInstructions = {{
    {Op::OpNop, Op::OpTypeEvent},
    {Op::OpTypeReserveId, Op::OpTypeReserveId, kMayCommunicate},
    {Op::OpTypePipe, Op::OpTypePipe, kMayCommunicate},
    {Op::OpTypeForwardPointer, Op::OpMemoryBarrier},
    {Op::OpAtomicLoad, Op::OpAtomicXor, kMayCommunicate},
    {Op::OpPhi, Op::OpLifetimeStop},
    {Op::OpGroupAsyncCopy, Op::OpGroupSMax, kReadsWorkGroup},
    {Op::OpReadPipe, Op::OpGroupCommitWritePipe, kMayCommunicate},
    {Op::OpImageSparseSampleImplicitLod, Op::OpNoLine},
    {Op::OpAtomicFlagTestAndSet, Op::OpAtomicFlagClear, kMayCommunicate},
    {Op::OpImageSparseRead, Op::OpSizeOf},
    {Op::OpTypePipeStorage, Op::OpCreatePipeFromPipeStorage, kMayCommunicate},
    {Op::OpTypeNamedBarrier, Op::OpDecorateId},
    {Op::OpGroupNonUniformElect, Op::OpGroupNonUniformQuadSwap, kReadsWorkGroup},
    {Op::OpCopyLogical, Op::OpPtrDiff},
    {Op::OpSubgroupBallotKHR, Op::OpSubgroupFirstInvocationKHR, kReadsWorkGroup},
    {Op::OpSubgroupAllKHR, Op::OpSubgroupReadInvocationKHR, kReadsWorkGroup},
    {Op::OpSDotKHR, Op::OpSUDotAccSatKHR},
    {Op::OpAtomicFMinEXT, Op::OpAtomicFMaxEXT, kMayCommunicate},
    {Op::OpAssumeTrueKHR, Op::OpExpectKHR},
    {Op::OpDecorateString, Op::OpMemberDecorateString},
    {Op::OpAtomicFAddEXT, Op::OpAtomicFAddEXT, kMayCommunicate},
    {Op::OpGroupIMulKHR, Op::OpGroupLogicalXorKHR, kReadsWorkGroup},
}};

constexpr std::array<Row<Decoration>, 5> kDecorations = {{
    {Decoration::RelaxedPrecision, Decoration::MaxByteOffsetId},
    {Decoration::Volatile, Decoration::Volatile, kMayCommunicate},
    {Decoration::Coherent, Decoration::Coherent, kMayCommunicate},
    {Decoration::NoSignedWrap, Decoration::NoUnsignedWrap},
    {Decoration::UserSemantic, Decoration::UserSemantic},
}};

constexpr std::array<Row<ExecutionMode>, 5> kExecutionModes = {{
    {ExecutionMode::LocalSize, ExecutionMode::LocalSizeHint},
    {ExecutionMode::VecTypeHint, ExecutionMode::ContractionOff},
    {ExecutionMode::SubgroupSize, ExecutionMode::SubgroupsPerWorkgroupId},
    {ExecutionMode::LocalSizeId, ExecutionMode::LocalSizeHintId},
    {ExecutionMode::DenormPreserve, ExecutionMode::RoundingModeRTZ},
}};

// A built-in value of a work-item: the variable, and the function of OpenCL C.
struct BuiltInValue {
  BuiltIn variable;
  Text name;
  Text function;
  Scan meaning;
};

constexpr std::array<BuiltInValue, 23> kBuiltIns = {{
    {BuiltIn::GlobalInvocationId, "GlobalInvocationId", "get_global_id", kHarmless},
    {BuiltIn::LocalInvocationId, "LocalInvocationId", "get_local_id", kReadsWorkGroup},
    {BuiltIn::LocalInvocationIndex, "LocalInvocationIndex", "get_local_linear_id", kReadsWorkGroup},
    {BuiltIn::WorkgroupSize, "WorkgroupSize", "get_local_size", kReadsWorkGroup},
    {BuiltIn::EnqueuedWorkgroupSize, "EnqueuedWorkgroupSize", "get_enqueued_local_size", kReadsWorkGroup},
    {BuiltIn::SubgroupSize, "SubgroupSize", "get_sub_group_size", kReadsWorkGroup},
    {BuiltIn::SubgroupMaxSize, "SubgroupMaxSize", "get_max_sub_group_size", kReadsWorkGroup},
    {BuiltIn::NumSubgroups, "NumSubgroups", "get_num_sub_groups", kReadsWorkGroup},
    {BuiltIn::NumEnqueuedSubgroups, "NumEnqueuedSubgroups", "get_enqueued_num_sub_groups", kReadsWorkGroup},
    {BuiltIn::SubgroupId, "SubgroupId", "get_sub_group_id", kReadsWorkGroup},
    {BuiltIn::SubgroupLocalInvocationId, "SubgroupLocalInvocationId", "get_sub_group_local_id",
     kReadsWorkGroup},
    {BuiltIn::SubgroupEqMask, "SubgroupEqMask", "get_sub_group_eq_mask", kReadsWorkGroup},
    {BuiltIn::SubgroupGeMask, "SubgroupGeMask", "get_sub_group_ge_mask", kReadsWorkGroup},
    {BuiltIn::SubgroupGtMask, "SubgroupGtMask", "get_sub_group_gt_mask", kReadsWorkGroup},
    {BuiltIn::SubgroupLeMask, "SubgroupLeMask", "get_sub_group_le_mask", kReadsWorkGroup},
    {BuiltIn::SubgroupLtMask, "SubgroupLtMask", "get_sub_group_lt_mask", kReadsWorkGroup},
    {BuiltIn::NumWorkgroups, "NumWorkgroups", "get_num_groups", kReadsBoth},
    {BuiltIn::WorkgroupId, "WorkgroupId", "get_group_id", kReadsBoth},
    {BuiltIn::GlobalSize, "GlobalSize", "get_global_size", kReadsNdrange},
    {BuiltIn::GlobalOffset, "GlobalOffset", "get_global_offset", kReadsNdrange},
    {BuiltIn::GlobalLinearId, "GlobalLinearId", "get_global_linear_id", kReadsNdrange},
    {BuiltIn::WorkDim, "WorkDim", "get_work_dim", kReadsNdrange},
    {BuiltIn::Max, "", "get_group_linear_id", kReadsBoth},  // which has no variable
}};

// The sets of extended instructions that only compute, print or describe.
constexpr std::array<Text, 4> kInstructionSets = {"OpenCL.std", "OpenCL.DebugInfo.100", "DebugInfo",
                                                  "SPIRV.debug"};

constexpr std::size_t kHeaderWords = 5;
constexpr Word kMagicOfOtherByteOrder = 0x03022307;
constexpr Word kOldestVersion = 0x00010000;
constexpr Word kNewestVersion = 0x00010600;
constexpr Word kMaxBound = 4'194'304;

// Later entries take precedence, so a range can have exceptions.
template <typename Enumerant, std::size_t N>
Scan meaning_of(Word number, const std::array<Row<Enumerant>, N>& list) {
  const auto found = std::find_if(list.rbegin(), list.rend(), [&](const Row<Enumerant>& range) {
    return number >= static_cast<Word>(range.first) && number <= static_cast<Word>(range.last);
  });
  return found == list.rend() ? kIsOpaque : found->meaning;
}

// Null if it is not listed.
const BuiltInValue* find_variable(Word number) {
  const auto* const found = std::find_if(kBuiltIns.begin(), kBuiltIns.end(), [&](const BuiltInValue& given) {
    return static_cast<Word>(given.variable) == number;
  });
  return found == kBuiltIns.end() ? nullptr : found;
}

// What a name in a module may be shown as: it is not trusted.
std::string as_construct(Text name) {
  constexpr std::size_t kLongest = 80;
  std::string shown(name.substr(0, kLongest));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~' || c == '`'; }, '?');
  return shown;
}

// Undoes the mangling of a function with no parameter or one integer, as OpenCL C and SPIR-V tools produce it.
Text without_mangling(Text symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  const std::size_t name = std::min(symbol.find_first_not_of("0123456789", 2), symbol.size());
  std::size_t length = 0;
  for (const char digit : symbol.substr(2, name - 2)) {
    length = length * 10 + static_cast<std::size_t>(digit - '0');
    if (length > symbol.size()) return symbol;
  }
  const Text arguments = symbol.substr(std::min(name + length, symbol.size()));
  const bool known = arguments == "j" || arguments == "i" || arguments == "v";
  return known ? symbol.substr(name, length) : symbol;
}

// What an imported function or variable may do.
Scan meaning_of_import(Text symbol) {
  constexpr Text kVariable = "__spirv_BuiltIn";
  if (symbol == "printf") return kHarmless;
  const Text name = without_mangling(symbol);
  for (const BuiltInValue& given : kBuiltIns) {
    if (name == given.function) return given.meaning;
    if (name.starts_with(kVariable) && name.substr(kVariable.size()) == given.name) return given.meaning;
  }
  return kIsOpaque;
}

Scan meaning_of_instruction_set(Text name) {
  const bool known =
      std::find(kInstructionSets.begin(), kInstructionSets.end(), name) != kInstructionSets.end();
  return known || name.starts_with("NonSemantic.") ? kHarmless : kIsOpaque;
}

template <typename Mask>
constexpr Word bits(Mask mask) {
  return static_cast<Word>(mask);
}

// Reads the module in one pass. A missing word clears `sound_`.
class ModuleReader {
 public:
  ModuleReader(std::span<const std::byte> module, Causes* causes)
      : module_(module), words_(module.size() / sizeof(Word)), causes_(causes) {}

  std::optional<Scan> run() && {
    if (words_ < kHeaderWords || module_.size() % sizeof(Word) != 0) return std::nullopt;
    if (word(0) == kMagicOfOtherByteOrder) return any("the other byte order");
    if (word(0) != spv::MagicNumber) return std::nullopt;
    if (!header()) return any("a header that Cleave does not know");
    for (begin_ = kHeaderWords; begin_ < words_; begin_ += count_) {
      count_ = word(begin_) >> spv::WordCountShift;
      if (count_ == 0 || count_ > words_ - begin_) return std::nullopt;
      const Scan before = scan_;
      construct_.clear();
      classify(word(begin_) & spv::OpCodeMask);
      if (!sound_) return std::nullopt;
      if (!(scan_ == before)) note_causes();
    }
    conclude();
    return scan_;
  }

 private:
  Scan any(Text why) {
    scan_ = kWorstCase;
    construct_ = why;
    note_causes();
    return scan_;
  }

  // A barrier of global memory in a module with a loop may be how work-groups wait for each other.
  void conclude() {
    if (!fences_global_ || !loops_ || scan_.communicates) return;
    scan_.communicates = scan_.may_wait = true;
    if (causes_ != nullptr) causes_->note(scan_, Cause::Way::in_module, "a barrier of global memory");
  }

  void note_causes() {
    if (causes_ == nullptr) return;
    const std::string opcode = "opcode " + std::to_string(word(begin_) & spv::OpCodeMask);
    causes_->note(scan_, Cause::Way::in_module, construct_.empty() ? opcode : construct_);
  }

  // Shown as the cause of what this instruction leads to, instead of its number.
  Scan named(Text name, const Scan& meaning) {
    construct_ = as_construct(name);
    return meaning;
  }

  // Not aligned.
  Word word(std::size_t at) const {
    Word word = 0;
    std::memcpy(&word, module_.data() + at * sizeof word, sizeof word);
    return word;
  }

  // Whether this version of SPIR-V is supported.
  bool header() {
    const Word version = word(1);
    const Word bound = word(3);
    if (version < kOldestVersion || version > kNewestVersion || (version & 0xFF) != 0) return false;
    if (bound > kMaxBound || word(4) != 0) return false;
    narrow_scopes_.resize(bound);
    local_fences_.resize(bound);
    labels_.resize(bound);
    return true;
  }

  bool has(std::size_t operand) const { return operand < count_; }

  // A word of the current instruction, counted from its first.
  Word operand(std::size_t at) {
    sound_ &= has(at);
    return has(at) ? word(begin_ + at) : 0;
  }

  // The text that begins at an operand, and the next operand.
  std::pair<std::string, std::size_t> text(std::size_t at) {
    std::string text;
    while (has(at)) {
      Word rest = operand(at++);
      std::size_t characters = 0;
      for (; characters < sizeof(Word) && (rest & 0xFFU) != 0; ++characters, rest >>= 8U) {
        text.push_back(static_cast<char>(rest & 0xFFU));
      }
      if (characters == sizeof(Word)) continue;
      sound_ &= rest == 0;  // readers differ on what a text means that goes on behind its end
      return {text, at};
    }
    sound_ = false;
    return {text, at};
  }

  void add(const Scan& other) {
    scan_.reads_ndrange |= other.reads_ndrange;
    scan_.opaque |= other.opaque;
    scan_.communicates |= other.communicates;
    scan_.may_wait |= other.may_wait;
    scan_.reads_work_group |= other.reads_work_group;
    scan_.keeps_state |= other.keeps_state;
  }
  void add_if(bool condition, const Scan& other) {
    if (condition) add(other);
  }

  void classify(Word opcode) {
    add(meaning_of(opcode, kInstructions));
    switch (static_cast<Op>(opcode)) {
      case Op::OpExtInstImport:
        return instruction_set(text(2).first);
      case Op::OpMemoryModel:
        return add_if(operand(2) != static_cast<Word>(spv::MemoryModel::OpenCL), kIsOpaque);
      case Op::OpEntryPoint:
        return add_if(operand(1) != static_cast<Word>(spv::ExecutionModel::Kernel), kIsOpaque);
      case Op::OpExecutionMode:
      case Op::OpExecutionModeId:
        return add(meaning_of(operand(2), kExecutionModes));
      case Op::OpDecorate:
        return decoration(2);
      case Op::OpMemberDecorate:
        return decoration(3);
      case Op::OpDecorateId:
      case Op::OpDecorateString:
        return decoration_of_another_form(2);
      case Op::OpMemberDecorateString:
        return decoration_of_another_form(3);
      case Op::OpTypePointer:
        return add_if(operand(2) == static_cast<Word>(spv::StorageClass::Workgroup), kReadsWorkGroup);
      case Op::OpVariable:
        return add_if(operand(3) == static_cast<Word>(spv::StorageClass::CrossWorkgroup), kKeepsState);
      case Op::OpConstant:
        return constant();
      case Op::OpLabel:
        return label();
      case Op::OpLoopMerge:
        loops_ = true;
        return;
      case Op::OpBranch:
        return target(1);
      case Op::OpBranchConditional:
        target(2);
        return target(3);
      case Op::OpSwitch:
        return targets();
      default:
        return memory(static_cast<Op>(opcode));
    }
  }

  void memory(Op op) {
    switch (op) {
      case Op::OpControlBarrier:
        scope(1);
        fence(3);
        return scope(2);
      case Op::OpMemoryBarrier:
        fence(2);
        return scope(1);
      case Op::OpMemoryNamedBarrier:
        fence(3);
        return scope(2);
      case Op::OpStore:
        return access(3);
      case Op::OpCopyMemory:
        return copy(3);
      case Op::OpLoad:
        return access(4);
      case Op::OpCopyMemorySized:
        return copy(4);
      case Op::OpImageWrite:
        return texel_access(4);
      case Op::OpImageRead:
      case Op::OpImageSparseRead:
        return texel_access(5);
      default:
        return;
    }
  }

  void decoration(std::size_t at) {
    const Word number = operand(at);
    switch (static_cast<Decoration>(number)) {
      case Decoration::BuiltIn:
        return variable(operand(at + 1));
      case Decoration::LinkageAttributes: {
        const auto [symbol, linkage] = text(at + 1);
        const bool import = operand(linkage) == static_cast<Word>(spv::LinkageType::Import);
        return add_if(import, named(without_mangling(symbol), meaning_of_import(symbol)));
      }
      default:
        return add(meaning_of(number, kDecorations));
    }
  }

  void instruction_set(const std::string& name) { add(named(name, meaning_of_instruction_set(name))); }

  void variable(Word number) {
    const BuiltInValue* const known = find_variable(number);
    const std::string name =
        known != nullptr ? std::string(known->name) : "BuiltIn " + std::to_string(number);
    add(named(name, known != nullptr ? known->meaning : kReadsNdrange));
  }

  // Decorations with ids or strings as operands, none of which decoration() handles.
  void decoration_of_another_form(std::size_t at) {
    const auto decoration = static_cast<Decoration>(operand(at));
    add_if(decoration != Decoration::UniformId && decoration != Decoration::AlignmentId &&
               decoration != Decoration::MaxByteOffsetId && decoration != Decoration::UserSemantic,
           kIsOpaque);
  }

  // Records which constants are scopes no wider than a work-group.
  void constant() {
    const Word id = operand(2);
    const Word value = operand(3);
    if (id >= narrow_scopes_.size()) {
      sound_ = false;
    } else if (count_ == 4) {
      narrow_scopes_[id] = value >= static_cast<Word>(spv::Scope::Workgroup) &&
                           value <= static_cast<Word>(spv::Scope::Invocation);
      local_fences_[id] = (value & ~kLocalFenceSemantics) == 0;
    }
  }

  // Other values may be any scope, since constants can be specialised.
  void scope(std::size_t at) {
    const Word id = operand(at);
    add_if(id >= narrow_scopes_.size() || !narrow_scopes_[id], kMayCommunicate);
  }

  // What is not certainly a fence of local memory only.
  void fence(std::size_t at) {
    const Word id = operand(at);
    fences_global_ |= id >= local_fences_.size() || !local_fences_[id];
  }

  void label() {
    const Word id = operand(1);
    sound_ &= id < labels_.size();
    if (sound_) labels_[id] = true;
  }

  // A branch to a block that came before: a loop.
  void target(std::size_t at) {
    const Word id = operand(at);
    loops_ |= id >= labels_.size() || labels_[id];
  }

  // Its literals may have one word or two, so each word counts as a label.
  void targets() {
    for (std::size_t at = 2; has(at); ++at) {
      const Word id = operand(at);
      loops_ |= id < labels_.size() && labels_[id];
    }
  }

  void access(std::size_t at) {
    constexpr Word kPlain = bits(spv::MemoryAccessMask::Aligned) | bits(spv::MemoryAccessMask::Nontemporal);
    add_if(has(at) && (operand(at) & ~kPlain) != 0, kMayCommunicate);
  }

  // A copy may have a second mask after the operand of the first.
  void copy(std::size_t at) {
    access(at);
    if (has(at)) access(at + 1 + ((operand(at) & bits(spv::MemoryAccessMask::Aligned)) != 0 ? 1 : 0));
  }

  void texel_access(std::size_t at) {
    using Mask = spv::ImageOperandsMask;
    constexpr Word kPlain = (bits(Mask::MinLod) << 1U) - 1;  // what a sample may have is below
    constexpr Word kExtended = bits(Mask::SignExtend) | bits(Mask::ZeroExtend) | bits(Mask::Nontemporal);
    add_if(has(at) && (operand(at) & ~(kPlain | kExtended)) != 0, kMayCommunicate);
  }

  const std::span<const std::byte> module_;
  const std::size_t words_;
  std::size_t begin_ = 0;  // of the present instruction
  std::size_t count_ = 0;  // of its words
  bool sound_ = true;
  std::vector<bool> narrow_scopes_;  // by id
  std::vector<bool> local_fences_;   // by id
  std::vector<bool> labels_;         // of the blocks so far, by id
  bool fences_global_ = false;       // has a barrier that may order global memory
  bool loops_ = false;
  Scan scan_;
  Causes* const causes_;
  std::string construct_;  // what the current instruction names
};

}  // namespace

std::optional<Scan> scan_spirv(std::span<const std::byte> module, Causes* causes) {
  return ModuleReader(module, causes).run();
}

}  // namespace cleave::kernels
