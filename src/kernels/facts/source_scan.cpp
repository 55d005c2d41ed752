#include "kernels/facts/source_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/prelude/prelude.h"
#include "kernels/text/build_options.h"
#include "kernels/text/name_list.h"
#include "kernels/text/token_pasting.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// What leaves the language: compiler intrinsics, device-side enqueues, symbol names, of which assembly outside of functions gives
// some, too.
constexpr std::array<Text, 9> kOpaque = {"asm",     "__asm",       "__asm__", "alias",    "__alias__",
                                         "weakref", "__weakref__", "ifunc",   "__ifunc__"};
constexpr std::array<Text, 19> kOpaqueWithin = {
    "__builtin_", "__spirv", "__ock", "__nv", "__llvm", "enqueue_kernel", "enqueue_marker", "ndrange_",
    "get_default_queue", "redefine_extname", "_Pragma",
    // The symbols of the replaced functions, by which they can be called, too.
    "_Z12get_group_id", "_Z14get_num_groups", "_Z15get_global_size", "_Z17get_global_offset",
    "_Z12get_work_dim", "_Z13get_global_id", "_Z20get_global_linear_id", "_Z19get_group_linear_id"};
constexpr std::array<Text, 7> kCommunicates = {"volatile",           "__volatile",     "__volatile__",
                                               "mem_fence",          "read_mem_fence", "write_mem_fence",
                                               "memory_scope_device"};
constexpr std::array<Text, 4> kCommunicatesWithin = {"atomic", "atom_", "__sync_", "memory_scope_all"};
// What may have to wait for others by itself: printf for the reader of its output, which may be the launching thread.
constexpr std::array<Text, 2> kWaitsWithin = {"_pipe", "printf"};
constexpr std::array<Text, 3> kBarriers = {"barrier", "work_group_barrier", "sub_group_barrier"};
constexpr std::array<Text, 4> kLoops = {"for", "while", "do", "goto"};
constexpr std::array<Text, 2> kGroups = {"local", "__local"};
constexpr std::array<Text, 8> kGroupsWithin = {"get_local_", "get_enqueued_", "get_group_", "get_num_",
                                               "sub_group",  "work_group",    "barrier",    "async_"};
constexpr std::array<Text, 2> kIncludes = {"include", "include_next"};
constexpr std::array<Text, 6> kConditions = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"};
constexpr std::array<Text, 2> kDefinitions = {"define", "undef"};
// What may precede a call.
constexpr std::array<Text, 4> kStatements = {"return", "else", "do", "case"};
constexpr std::array<Text, 5> kHarmlessDirectives = {"else", "endif", "line", "error", "warning"};
// The last is for CLBlast, which evaluates it before it builds its programs.
constexpr std::array<Text, 7> kHarmlessPragmas = {
    "OPENCL", "unroll", "nounroll", "once", "STDC", "ivdep", "promote_to_registers"};
// The word behind #pragma clang.
constexpr std::array<Text, 2> kHarmlessClangPragmas = {"fp", "loop"};

constexpr bool has_underscore(Text text) { return text.find('_') != Text::npos; }

// `underscore`: the name has one. Most of the words have, half of the names of programs have none.
template <const auto& kWords>
bool contains_any(Text name, bool underscore) {
  constexpr auto kUnderscores = [] {
    std::array<bool, kWords.size()> found{};
    std::transform(kWords.begin(), kWords.end(), found.begin(), has_underscore);
    return found;
  }();
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if ((underscore || !kUnderscores[i]) && name.find(kWords[i]) != Text::npos) return true;
  }
  return false;
}

bool is_replaced(Text name) { return is_in(kReplacedFunctions, name); }

// The only replaced function whose own value is right in a slice.
constexpr Text kGlobalId = "get_global_id";

bool reads_cut_value(Text name) { return is_replaced(name) && name != kGlobalId; }

void classify_name(Text name, Scan& scan) {
  if (name.size() == 1) return;  // as half of a program's are, and no word of the lists
  const bool underscore = has_underscore(name);
  scan.reads_ndrange |= reads_cut_value(name);
  scan.reads_global_id |= name == kGlobalId;
  scan.opaque |= is_in(kOpaque, name) || contains_any<kOpaqueWithin>(name, underscore);
  const bool waits = contains_any<kWaitsWithin>(name, underscore);
  scan.communicates |=
      waits || is_in(kCommunicates, name) || contains_any<kCommunicatesWithin>(name, underscore);
  scan.may_wait |= waits;
  scan.loops |= is_in(kLoops, name);
  scan.reads_work_group |= is_in(kGroups, name) || contains_any<kGroupsWithin>(name, underscore);
  if (!underscore) return;
  scan.breaks_prelude |= name.find(kReservedPrefix) != Text::npos || name == "_Pragma";
  // Their angle brackets may contain anything.
  scan.ambiguous |= name.find("__has_include") != Text::npos || name.find("__has_embed") != Text::npos;
}

class Scanner {
 public:
  Scanner(const Tokens& tokens, const HarmlessAtomics* harmless, const std::vector<bool>* register_assembly,
          const CauseNotes& notes)
      : list_(tokens.list),
        harmless_(harmless),
        register_assembly_(register_assembly),
        unreadable_(tokens.unreadable),
        notes_(notes) {
    scan_.ambiguous = !tokens.unambiguous;
  }

  Scan run() && {
    while (at_ < list_.size()) {
      if (list_[at_].directive) {
        directive();
      } else {
        code(list_[at_]);
        ++at_;
      }
    }
    // If both branches of a conditional open a brace, it is unknown what is outside of braces.
    if ((depth_ != 0 || lost_) && !declared_.empty()) {
      scan_.breaks_prelude = true;
      note(Way::changes, declared_);
    }
    // Ambiguous text may do anything with any name.
    if (scan_.ambiguous) {
      scan_.opaque = scan_.breaks_prelude = true;
      note(Way::unreadable, unreadable_);
    }
    return scan_;
  }

 private:
  using Way = Cause::Way;

  void note(Way way, Text construct) const { notes_.note(scan_, way, construct, construct); }

  enum class Place : std::uint8_t { code, condition };

  void name(std::size_t at, Place place = Place::code) {
    const Text name = list_[at].text;
    const bool ambiguous = scan_.ambiguous;
    const bool communicates = scan_.communicates;
    const bool may_wait = scan_.may_wait;
    const bool opaque = scan_.opaque;
    classify_name(name, scan_);
    // It decides which text there is, and each branch has been read; it does nothing itself. (#ifdef cl_khr_int64_base_atomics)
    if (place == Place::condition) {
      scan_.communicates = communicates;
      scan_.may_wait = may_wait;
    }
    const bool computes = register_assembly_ != nullptr && (*register_assembly_)[at];
    if (computes || is_assembly(at)) {
      scan_.opaque = opaque;
      scan_.communicates = true;
      scan_.assembly |= !computes;
    }
    if (harmless_ != nullptr && harmless_->tokens[at]) {
      scan_.communicates = communicates;
      scan_.adds_to_global |= harmless_->add_to_global;
      scan_.fences_global |= harmless_->has_private_volatiles && is_in(kVolatile, name);
    }
    scan_.fences_global |= is_in(kBarriers, name) && !is_local_barrier(at);
    if (scan_.ambiguous && !ambiguous) unreadable_ = name;
    note(Way::uses, name);
  }

  bool follows(std::size_t at, Text sign) const { return at + 1 < list_.size() && list_[at + 1].is(sign); }

  // A statement of assembly: not what names the symbol of a declaration.
  [[nodiscard]] bool is_assembly(std::size_t at) const {
    if (!is_in(kAssembly, list_[at].text) || list_[at].directive || depth_ == 0) return false;
    std::size_t before = at - 1;  // a brace is open, so there is one
    while (list_[before].directive) --before;
    return list_[before].is(";") || list_[before].is("{") || list_[before].is("}");
  }

  // A barrier that orders accesses to local memory only.
  [[nodiscard]] bool is_local_barrier(std::size_t at) const {
    return follows(at, "(") && follows(at + 1, kLocalFence) && (follows(at + 2, ")") || follows(at + 2, ","));
  }

  void code(const Token& token) {
    if (token.is("##")) pastes(token.text);
    if (token.is("{")) ++depth_;
    if (token.is("}")) {
      lost_ |= depth_ == 0;
      depth_ -= depth_ > 0 ? 1 : 0;
    }
    if (token.kind != Token::Kind::name) return;
    name(at_);
    if (is_replaced(token.text)) replaced();
  }

  void pastes(Text sign) {
    scan_.pastes_tokens = true;
    note(Way::uses, sign);
  }

  // A parameter or function of this name could be visible from outside; a macro could paste something to its
  // argument.
  void replaced() {
    const bool called = follows(at_, "(");
    const bool outside = depth_ == 0;
    if (called) {
      scan_.breaks_prelude |= outside && (declares(at_) || ends_type(at_));
      if (declares(at_) && !is_in(kStatements, list_[at_ - 1].text)) declared_ = list_[at_].text;
    } else {
      scan_.breaks_prelude |= outside || declares(at_);
      scan_.breaks_prelude_if_pasting = true;
    }
    note(Way::changes, list_[at_].text);
  }

  // Whether the preceding token could be a type.
  bool declares(std::size_t at) const {
    return at > 0 && (list_[at - 1].kind == Token::Kind::name || list_[at - 1].is("*"));
  }

  // Whether the preceding token could end a type: an attribute, a structure.
  bool ends_type(std::size_t at) const { return at > 0 && (list_[at - 1].is(")") || list_[at - 1].is("}")); }

  // `at` is the word behind "pragma".
  [[nodiscard]] bool is_harmless_pragma(std::size_t at, std::size_t end) const {
    if (list_[at].is("clang")) return at + 1 < end && is_in(kHarmlessClangPragmas, list_[at + 1].text);
    return is_in(kHarmlessPragmas, list_[at].text);
  }

  // From the "#" to the end of its line.
  void directive() {
    const std::size_t begin = at_;
    at_ = end_of_directive(list_, at_);
    const std::size_t end = at_++;
    if (begin + 1 == end) return;  // the null directive
    const Text keyword = list_[begin + 1].text;
    if (is_in(kIncludes, keyword)) {
      scan_.has_includes = true;
    } else if (is_in(kDefinitions, keyword)) {
      definition(begin + 2, end);
    } else if (is_in(kConditions, keyword)) {
      condition(begin + 2, end);
    } else if (keyword == "pragma" ? begin + 2 < end && !is_harmless_pragma(begin + 2, end)
                                   : !is_in(kHarmlessDirectives, keyword)) {
      scan_.opaque = scan_.breaks_prelude = true;
      const Token& last = list_[std::min(begin + 2, end - 1)];
      const Text construct(
          list_[begin].text.data(),
          static_cast<std::size_t>(last.text.data() + last.text.size() - list_[begin].text.data()));
      note(Way::directive, construct);
    }
  }

  void definition(std::size_t begin, std::size_t end) {
    if (begin < end && is_replaced(list_[begin].text)) {
      scan_.breaks_prelude = true;
      note(Way::changes, list_[begin].text);
    }
    scan_.fences_global |= begin < end && list_[begin].is(kLocalFence);
    for (std::size_t i = begin; i < end; ++i) {
      if (list_[i].is("##")) pastes(list_[i].text);
      // Turned into a string, a replaced name would be visible; so would one that a condition tests.
      if (list_[i].is("#") || list_[i].is("defined")) {
        scan_.breaks_prelude = true;
        note(Way::makes_text, list_[i].text);
      }
      if (list_[i].kind != Token::Kind::name) continue;
      name(i);
      // Another macro could paste something to the replaced name.
      if (is_replaced(list_[i].text) && !follows(i, "(")) scan_.breaks_prelude_if_pasting = true;
    }
  }

  void condition(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (list_[i].kind != Token::Kind::name) continue;
      name(i, Place::condition);
      scan_.breaks_prelude |= is_replaced(list_[i].text);
      note(Way::changes, list_[i].text);
      // A macro that could paste a replaced name here.
      if (follows(i, "(") && list_[i].text != "defined") scan_.breaks_prelude_if_pasting = true;
    }
  }

  const std::vector<Token>& list_;
  // Null: none are known.
  const HarmlessAtomics* harmless_;
  const std::vector<bool>* register_assembly_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // of braces
  bool lost_ = false;      // more braces were closed than opened
  Text declared_;          // a replaced name that may be declared within braces
  Text unreadable_;        // what makes the text ambiguous
  CauseNotes notes_;
  Scan scan_;
};

}  // namespace

void conclude(Findings& found) {
  const auto communicates = [&](bool does, Cause::Finding by) {
    if (!does) return;
    found.scan.communicates = true;
    if (const Cause* cause = found.causes.of(by))
      found.causes.note(found.scan, Cause(*cause), std::string(cause->construct));
  };
  communicates(found.scan.adds_to_global && found.scan.loops, Cause::Finding::adds_to_global);
  communicates(found.scan.fences_global && found.scan.open_loops, Cause::Finding::fences_global);
  communicates(found.scan.shares_stores && found.scan.open_loops, Cause::Finding::shares_stores);
  // What may do anything may wait, and so may a loop of which a variable's name stands for memory that others see.
  found.scan.may_wait |= found.scan.opaque || found.scan.assembly || found.scan.ambiguous ||
                         (found.scan.keeps_state && found.scan.loops);
}

Scan scan_tokens(const Tokens& tokens, const CauseNotes& notes) {
  return Scanner(tokens, nullptr, nullptr, notes).run();
}

Scan scan_function(const Tokens& tokens, const HarmlessAtomics& harmless,
                   const std::vector<bool>& register_assembly, const CauseNotes& notes) {
  return Scanner(tokens, &harmless, &register_assembly, notes).run();
}

Scan scan_options(std::string_view options, Causes* causes) {
  Scan scan;
  const auto note = [&](Text construct) {
    if (causes != nullptr) causes->note(scan, Cause::Way::option, construct);
  };
  const Options parsed = parse_options(options);
  for (const std::string& word : parsed.unknown) {
    scan.opaque = scan.breaks_prelude = true;
    note(word);
  }
  for (const std::string& macro : parsed.macros) {
    // A macro with a name from the prelude would change the prelude.
    for_each_name(prelude(), [&](Text name) { scan.breaks_prelude |= name == macro; });
    scan.breaks_prelude |= Text(macro).find(kReservedPrefix) != Text::npos;
    scan.fences_global |= macro == kLocalFence;  // it may be another fence
    note(macro);
  }
  return scan;
}

Findings findings_in(const Tokens& tokens, const JoinedText& text) {
  Findings found;
  found.scan = scan_tokens(tokens, {&text, &found.causes});
  return found;
}

Scan scan_text(std::string_view text) { return scan_tokens(tokens_of(text)); }

Scan scan_pasted_names(const std::vector<const Tokens*>& texts, const Tokens& options, Causes* causes) {
  const TokenPasting pasting(texts, options);
  // The place of the causes: the first "##".
  Cause place{Cause::Finding::pastes_tokens, Cause::Way::pastes, {}, {}, 0};
  if (const Cause* first = causes != nullptr ? causes->of(place.finding) : nullptr) {
    place.file = first->file;
    place.line = first->line;
  }
  Scan scan;
  const auto found = [&](bool Scan::*member, Text name, bool formed) {
    if (!formed) return;
    scan.*member = true;
    if (causes != nullptr) causes->note(scan, place, name);
  };
  for (const Text name : kReplacedFunctions)
    found(&Scan::reads_ndrange, name, reads_cut_value(name) && pasting.can_form(name));
  scan.reads_global_id = pasting.can_form(kGlobalId);
  found(&Scan::breaks_prelude, "defined", pasting.can_join("defined"));
  // Assembly that is written out has been seen where it stands.
  for (const Text name : kOpaque)
    found(&Scan::opaque, name, is_in(kAssembly, name) ? pasting.can_join(name) : pasting.can_form(name));
  for (const Text part : kOpaqueWithin) found(&Scan::opaque, part, pasting.can_form_containing(part));
  for (const Text name : kCommunicates) found(&Scan::communicates, name, pasting.can_form(name));
  for (const Text part : kCommunicatesWithin)
    found(&Scan::communicates, part, pasting.can_form_containing(part));
  for (const Text part : kWaitsWithin) {
    const bool formed = pasting.can_form_containing(part);
    scan.may_wait |= formed;
    found(&Scan::communicates, part, formed);
  }
  for (const Text name : kBarriers) found(&Scan::fences_global, name, pasting.can_join(name));
  for (const Text name : kLoops) scan.open_loops |= pasting.can_join(name);
  scan.may_wait |= scan.open_loops;
  for (const Text name : kGroups) scan.reads_work_group |= pasting.can_form(name);
  for (const Text part : kGroupsWithin) scan.reads_work_group |= pasting.can_form_containing(part);
  return scan;
}

}  // namespace cleave::kernels
