#include "kernels/scan.h"

#include <algorithm>
#include <array>

#include "kernels/pasting.h"
#include "kernels/prelude.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// What leads past the language: assembly, compiler intrinsics, device-side enqueues, names given to symbols.
constexpr std::array<Text, 9> kOpaque = {"asm",     "__asm",       "__asm__", "alias",    "__alias__",
                                         "weakref", "__weakref__", "ifunc",   "__ifunc__"};
constexpr std::array<Text, 19> kOpaqueWithin = {
    "__builtin_", "__spirv", "__ock", "__nv", "__llvm", "enqueue_kernel", "enqueue_marker", "ndrange_",
    "get_default_queue", "redefine_extname", "_Pragma",
    // The replaced functions' symbols, by which they can be called as well.
    "_Z12get_group_id", "_Z14get_num_groups", "_Z15get_global_size", "_Z17get_global_offset",
    "_Z12get_work_dim", "_Z13get_global_id", "_Z20get_global_linear_id", "_Z19get_group_linear_id"};
constexpr std::array<Text, 7> kTalks = {"volatile",           "__volatile",     "__volatile__",
                                        "mem_fence",          "read_mem_fence", "write_mem_fence",
                                        "memory_scope_device"};
constexpr std::array<Text, 5> kTalksWithin = {"atomic", "atom_", "__sync_", "memory_scope_all", "_pipe"};
constexpr std::array<Text, 2> kGroups = {"local", "__local"};
constexpr std::array<Text, 8> kGroupsWithin = {"get_local_", "get_enqueued_", "get_group_", "get_num_",
                                               "sub_group",  "work_group",    "barrier",    "async_"};
constexpr std::array<Text, 2> kIncludes = {"include", "include_next"};
constexpr std::array<Text, 6> kConditions = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"};
constexpr std::array<Text, 2> kDefinitions = {"define", "undef"};
// What may stand in front of a call.
constexpr std::array<Text, 4> kStatements = {"return", "else", "do", "case"};
constexpr std::array<Text, 5> kHarmlessDirectives = {"else", "endif", "line", "error", "warning"};
// The last is read by CLBlast before it hands its programs on.
constexpr std::array<Text, 7> kHarmlessPragmas = {
    "OPENCL", "unroll", "nounroll", "once", "STDC", "ivdep", "promote_to_registers"};
constexpr std::array<Text, 9> kHarmlessOptions = {"-D", "-I", "-cl-", "-w", "-W", "-O", "-g", "-x", "-nv-"};

template <std::size_t N>
bool among(const std::array<Text, N>& list, Text name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <std::size_t N>
bool holds_one_of(const std::array<Text, N>& list, Text name) {
  return std::any_of(list.begin(), list.end(), [&](Text word) { return name.find(word) != Text::npos; });
}

bool is_replaced(Text name) { return among(kReplaced, name); }

// The one replaced function that is right in a slice without being replaced.
constexpr Text kGlobalId = "get_global_id";

bool sees_the_cut(Text name) { return is_replaced(name) && name != kGlobalId; }

void look_at_name(Text name, Scan& scan) {
  scan.sees |= sees_the_cut(name);
  scan.ids |= name == kGlobalId;
  scan.opaque |= among(kOpaque, name) || holds_one_of(kOpaqueWithin, name);
  scan.talks |= among(kTalks, name) || holds_one_of(kTalksWithin, name);
  scan.sees_groups |= among(kGroups, name) || holds_one_of(kGroupsWithin, name);
  scan.meddles |= name.find(kReserved) != Text::npos || name == "_Pragma";
  // Between whose angle brackets anything may stand.
  scan.unsound |= name.find("__has_include") != Text::npos || name.find("__has_embed") != Text::npos;
}

// The walk over one text's tokens.
class Look {
 public:
  explicit Look(const Tokens& tokens) : list_(tokens.list) { scan_.unsound = !tokens.sound; }

  Scan run() && {
    while (at_ < list_.size()) {
      if (list_[at_].directive) {
        directive();
      } else {
        code(list_[at_]);
        ++at_;
      }
    }
    // Where both branches of a conditional open a brace, what is outside is not known.
    if (depth_ != 0 || lost_) scan_.meddles |= declared_;
    // What cannot be read may do anything with any name.
    if (scan_.unsound) scan_.opaque = scan_.meddles = true;
    return scan_;
  }

 private:
  bool follows(std::size_t at, Text sign) const { return at + 1 < list_.size() && list_[at + 1].is(sign); }

  void code(const Token& token) {
    if (token.is("##")) scan_.pastes = true;
    if (token.is("{")) ++depth_;
    if (token.is("}")) {
      lost_ |= depth_ == 0;
      depth_ -= depth_ > 0 ? 1 : 0;
    }
    if (token.kind != Token::Kind::name) return;
    look_at_name(token.text, scan_);
    if (is_replaced(token.text)) replaced();
  }

  // A parameter of that name, or a function, could be seen from outside; a macro could paste something to its
  // argument.
  void replaced() {
    const bool called = follows(at_, "(");
    const bool outside = depth_ == 0;
    if (called) {
      scan_.meddles |= outside && (declares(at_) || ends_type(at_));
      declared_ |= declares(at_) && !among(kStatements, list_[at_ - 1].text);
    } else {
      scan_.meddles |= outside || declares(at_);
      scan_.meddles_if = true;
    }
  }

  // Whether what stands in front could be a type.
  bool declares(std::size_t at) const {
    return at > 0 && (list_[at - 1].kind == Token::Kind::name || list_[at - 1].is("*"));
  }

  // Whether what stands in front could end one: an attribute, a structure.
  bool ends_type(std::size_t at) const { return at > 0 && (list_[at - 1].is(")") || list_[at - 1].is("}")); }

  // From the "#" to behind the end of its line.
  void directive() {
    const std::size_t begin = at_;
    while (list_[at_].kind != Token::Kind::finish) ++at_;
    const std::size_t end = at_++;
    if (begin + 1 == end) return;  // the null directive
    const Text keyword = list_[begin + 1].text;
    if (among(kIncludes, keyword)) {
      scan_.includes = true;
    } else if (among(kDefinitions, keyword)) {
      definition(begin + 2, end);
    } else if (among(kConditions, keyword)) {
      condition(begin + 2, end);
    } else if (keyword == "pragma" ? begin + 2 < end && !among(kHarmlessPragmas, list_[begin + 2].text)
                                   : !among(kHarmlessDirectives, keyword)) {
      scan_.opaque = scan_.meddles = true;
    }
  }

  void definition(std::size_t begin, std::size_t end) {
    if (begin < end) scan_.meddles |= is_replaced(list_[begin].text);
    for (std::size_t i = begin; i < end; ++i) {
      if (list_[i].is("##")) scan_.pastes = true;
      // A name that is made a text would show which name it is; so would one that a condition asks for.
      if (list_[i].is("#") || list_[i].is("defined")) scan_.meddles = true;
      if (list_[i].kind != Token::Kind::name) continue;
      look_at_name(list_[i].text, scan_);
      // Something could be pasted to the name that stands for it.
      if (is_replaced(list_[i].text) && !follows(i, "(")) scan_.meddles_if = true;
    }
  }

  void condition(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (list_[i].kind != Token::Kind::name) continue;
      look_at_name(list_[i].text, scan_);
      scan_.meddles |= is_replaced(list_[i].text);
      // A macro that could paste such a name here.
      if (follows(i, "(") && list_[i].text != "defined") scan_.meddles_if = true;
    }
  }

  const std::vector<Token>& list_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // of braces
  bool lost_ = false;      // more of them were closed than opened
  bool declared_ = false;  // within braces, as it seems, something of a replaced name could be declared
  Scan scan_;
};

// One word of the options, or the operand of the one before.
bool is_harmless_option(Text word) {
  if (word.starts_with('@')) return false;
  if (!word.starts_with('-')) return true;
  if (word.starts_with("-W") && word.find(',') != Text::npos) return false;  // hands options to another tool
  return std::any_of(kHarmlessOptions.begin(), kHarmlessOptions.end(),
                     [&](Text known) { return word.starts_with(known); });
}

std::string without_quotes(Text options) {
  std::string bare;
  for (const char c : options) {
    if (c != '"' && c != '\'' && c != '\\') bare.push_back(c);
  }
  return bare;
}

std::vector<Text> words_of(Text text) {
  std::vector<Text> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end]) && !ends_line(text[end])) ++end;
    if (end != at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Text leading_name(Text text) {
  std::size_t size = 0;
  while (size < text.size() && continues_name(text[size])) ++size;
  return text.substr(0, size);
}

}  // namespace

Scan both(const Scan& a, const Scan& b) {
  Scan all = a;
  all.sees |= b.sees;
  all.ids |= b.ids;
  all.meddles |= b.meddles;
  all.opaque |= b.opaque;
  all.talks |= b.talks;
  all.sees_groups |= b.sees_groups;
  all.pastes |= b.pastes;
  all.meddles_if |= b.meddles_if;
  all.includes |= b.includes;
  all.unsound |= b.unsound;
  all.keeps |= b.keeps;
  return all;
}

Scan scan_text(std::string_view text) { return Look(tokens_of(text)).run(); }

Scan scan_pasted(const std::vector<std::string_view>& texts, std::string_view options) {
  const Pasting pasting(texts, options);
  Scan scan;
  for (const Text name : kReplaced) scan.sees |= sees_the_cut(name) && pasting.can_form(name);
  scan.ids = pasting.can_form(kGlobalId);
  scan.meddles = pasting.can_join("defined");
  for (const Text name : kOpaque) scan.opaque |= pasting.can_form(name);
  for (const Text part : kOpaqueWithin) scan.opaque |= pasting.can_form_around(part);
  for (const Text name : kTalks) scan.talks |= pasting.can_form(name);
  for (const Text part : kTalksWithin) scan.talks |= pasting.can_form_around(part);
  for (const Text name : kGroups) scan.sees_groups |= pasting.can_form(name);
  for (const Text part : kGroupsWithin) scan.sees_groups |= pasting.can_form_around(part);
  return scan;
}

std::string options_as_text(std::string_view options) {
  std::string text;
  for (const std::string& once : {std::string(options), without_quotes(options)}) {
    text.append("#define options ");
    // Neither a path nor a quotient begins a comment.
    for (const char c : once) text.push_back(ends_line(c) || c == '/' ? ' ' : c);
    text.push_back('\n');
  }
  return text;
}

Scan scan_options(std::string_view options) {
  Scan scan;
  const std::string bare = without_quotes(options);
  for (const Text word : words_of(bare)) scan.opaque |= !is_harmless_option(word);
  scan.meddles = scan.opaque;
  for (const std::string& macro : parse_options(options).macros) {
    // A macro with a name that the prelude's own text uses would change that text.
    for_each_name(prelude(), [&](Text name) { scan.meddles |= name == macro; });
    scan.meddles |= Text(macro).find(kReserved) != Text::npos;
  }
  return scan;
}

Options parse_options(std::string_view options) {
  const std::string bare = without_quotes(options);
  const std::vector<Text> words = words_of(bare);
  Options parsed;
  parsed.quotes = bare.size() != options.size();
  parsed.cpp = bare.find("C++") != std::string::npos || bare.find("c++") != std::string::npos;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Text word = words[i];
    const Text letter = word.substr(0, 2);
    if (letter != "-I" && letter != "-D" && letter != "-U") continue;
    Text operand = word.substr(2);
    if (operand.empty() && i + 1 < words.size()) operand = words[i + 1];
    if (letter == "-I") {
      parsed.folders.emplace_back(operand);
    } else {
      parsed.macros.emplace_back(leading_name(operand));
    }
  }
  return parsed;
}

std::vector<std::string> includes_of(std::string_view text) {
  const std::vector<Token> list = tokens_of(text).list;
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 2 < list.size(); ++i) {
    if (!list[i].directive || !list[i].is("#") || !among(kIncludes, list[i + 1].text)) continue;
    const Token& operand = list[i + 2];
    const bool named = operand.kind == Token::Kind::text && operand.text.size() > 2;
    names.emplace_back(named ? operand.text.substr(1, operand.text.size() - 2) : Text{});
  }
  return names;
}

}  // namespace cleave::kernels
