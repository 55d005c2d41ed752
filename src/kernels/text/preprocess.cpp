#include "kernels/text/preprocess.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "kernels/text/build_options.h"
#include "kernels/text/condition.h"
#include "kernels/text/include_operand.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;
using Line = std::span<const Token>;

// Against recursive inclusion.
constexpr std::size_t kMaxOpenFiles = 64;
constexpr std::size_t kMaxFiles = 4096;
constexpr std::size_t kMaxTokensFollowed = std::size_t{1} << 22U;  // followed, each as often as it is

// What is known of one conditional after all passes through its text.
struct Outcome {
  bool decided = true;  // the same branch was taken each time, or none
  std::size_t branch = 0;
};
constexpr std::size_t kNoBranch = static_cast<std::size_t>(-1);

// A text and what was found out about it.
struct Work {
  std::size_t text = 0;
  std::vector<bool> reached = {};                          // the tokens that may be compiled
  std::unordered_map<std::size_t, Outcome> outcomes = {};  // by the token that begins the #if
  bool entire = false;                                     // everything counts
  bool visited = false;
  bool open = false;
  bool once = false;  // compilers may skip it when it is included again
};

// What follows the keyword of the directive.
Line operand_of(const std::vector<Token>& list, std::size_t begin, std::size_t end) {
  const std::size_t first = std::min(begin + 2, end);
  return Line(list).subspan(first, end - first);
}

bool is_include(Text keyword) { return keyword == "include" || keyword == "include_next"; }
bool begins_conditional(Text keyword) { return keyword == "if" || keyword == "ifdef" || keyword == "ifndef"; }
bool continues_conditional(Text keyword) { return keyword.starts_with("el"); }

// Follows a program once from its first line to its last.
class Walk {
 public:
  Walk(Preprocessed& program, const PreprocessorInputs& inputs, Headers& headers)
      : program_(program), headers_(headers), macros_(inputs.options, inputs.uncertain_options) {
    works_.push_back(Work{.reached = std::vector<bool>(program.texts[0].tokens.list.size())});
  }

  // Returns false if the program must be taken as a whole.
  bool run() {
    follow(0);
    return certain_;
  }

  // Everything in the text counts, and all that it may include. No macro is known any more.
  void take_entire(std::size_t first) {
    macros_.forget_all();
    std::vector<std::size_t> open{first};
    while (!open.empty()) {
      Work& work = works_[open.back()];
      open.pop_back();
      if (std::exchange(work.entire, true)) continue;
      const std::vector<Token>& list = program_.texts[work.text].tokens.list;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].directive) continue;
        const std::size_t end = end_of_directive(list, i);
        if (is_include(list[i + 1].text)) {
          const auto files = files_of(work.text, operand_of(list, i, end), false);
          open.insert(open.end(), files.begin(), files.end());
        }
        i = end;
      }
    }
  }

  std::size_t text_of(const std::string& file) {
    const auto known = by_file_.find(file);
    if (known != by_file_.end()) return known->second;
    const std::size_t index = works_.size();
    by_file_[file] = index;
    program_.texts.emplace_back(headers_.read(file), file);
    const Tokens& tokens = program_.texts.back().tokens;
    works_.push_back(Work{.text = index, .reached = std::vector<bool>(tokens.list.size())});
    if (!tokens.unambiguous) certain_ = false;
    return index;
  }

  [[nodiscard]] const std::deque<Work>& works() const { return works_; }

 private:
  // An open conditional.
  struct Conditional {
    std::size_t begin;            // the token that begins its #if
    bool dead;                    // it is itself in a branch that is not compiled
    bool taken = false;           // a branch was certainly compiled if none before was
    bool doubtful = false;        // a branch may have been compiled
    bool live = false;            // the present branch may be compiled
    bool may_be_skipped = false;  // what the present branch defines must be undone
    std::size_t branch = 0;
    std::size_t chosen = kNoBranch;
    std::vector<MacroTable::Changes> changes = {};
  };

  void follow(std::size_t text) {
    Work& work = works_[text];
    work.visited = true;
    const bool was_open = std::exchange(work.open, true);
    const std::vector<Token>& list = program_.texts[text].tokens.list;
    followed_ += list.size();
    if (++open_files_ > kMaxOpenFiles || followed_ > kMaxTokensFollowed) certain_ = false;
    std::vector<Conditional> open;
    for (std::size_t i = 0; i < list.size() && certain_; ++i) {
      const bool live = open.empty() || open.back().live;
      if (!list[i].directive) {
        if (live) work.reached[i] = true;
        continue;
      }
      const std::size_t end = end_of_directive(list, i);
      if (!conditional(work, i, end, open) && live) {
        mark(work, i, end);
        directive(text, list[i + 1].text, operand_of(list, i, end));
      }
      i = end;
    }
    if (!open.empty()) certain_ = false;
    --open_files_;
    work.open = was_open;
  }

  static void mark(Work& work, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i <= end; ++i) work.reached[i] = true;
  }

  // Returns false if the directive is no part of a conditional.
  bool conditional(Work& work, std::size_t begin, std::size_t end, std::vector<Conditional>& open) {
    const std::vector<Token>& list = program_.texts[work.text].tokens.list;
    const Text keyword = list[begin + 1].text;
    const Line operand = operand_of(list, begin, end);
    if (begins_conditional(keyword)) {
      const bool dead = !open.empty() && !open.back().live;
      open.push_back({.begin = begin, .dead = dead});
      if (!dead) mark(work, begin, end);
      if (!dead) enter(open.back(), truth_of(keyword, operand));
      return true;
    }
    if (!continues_conditional(keyword) && keyword != "endif") return false;
    if (open.empty()) {
      certain_ = false;
      return true;
    }
    Conditional& current = open.back();
    if (!current.dead) mark(work, begin, end);
    leave(current);
    if (keyword == "endif") {
      finish(work, current);
      open.pop_back();
      return true;
    }
    ++current.branch;
    // Older compilers do not know #elifdef, and skip it.
    if (!current.dead && keyword != "else" && keyword != "elif") certain_ = false;
    const bool skipped = current.dead || current.taken;
    if (!skipped) enter(current, keyword == "else" ? Truth::yes : truth_of("if", operand));
    return true;
  }

  [[nodiscard]] Truth truth_of(Text keyword, Line operand) const {
    if (keyword == "if") return evaluate(operand, macros_);
    if (operand.empty()) return Truth::unknown;
    const Truth defined = is_defined(operand[0].text, macros_);
    if (keyword == "ifdef" || defined == Truth::unknown) return defined;
    return defined == Truth::yes ? Truth::no : Truth::yes;
  }

  void enter(Conditional& current, Truth truth) {
    if (truth == Truth::no) return;
    current.live = true;
    current.taken = truth == Truth::yes;
    current.doubtful |= truth == Truth::unknown;
    current.may_be_skipped = current.doubtful;
    if (current.may_be_skipped) macros_.begin_branch();
    if (!current.doubtful) current.chosen = current.branch;
  }

  void leave(Conditional& current) {
    if (current.may_be_skipped) current.changes.push_back(macros_.end_branch());
    current.live = current.may_be_skipped = false;
  }

  void finish(Work& work, const Conditional& current) {
    if (current.dead) return;
    if (current.doubtful) macros_.join(current.changes, !current.taken);
    const Outcome outcome{!current.doubtful, current.chosen};
    const auto [known, added] = work.outcomes.try_emplace(current.begin, outcome);
    if (!added) known->second.decided &= outcome.decided && outcome.branch == known->second.branch;
  }

  void directive(std::size_t text, Text keyword, Line operand) {
    if (is_include(keyword)) {
      include(text, operand, keyword == "include_next");
    } else if (keyword == "define" && !operand.empty()) {
      macros_.set(operand[0].text, read_definition(operand));
    } else if (keyword == "undef" && !operand.empty()) {
      macros_.set(operand[0].text, Macro{.parameters = {}, .text = {}});
    } else if (keyword == "pragma" && !operand.empty() && operand[0].is("once")) {
      works_[text].once = true;
    }
  }

  // If it may mean several files or nothing, what they define differently is unknown.
  void include(std::size_t text, Line operand, bool next) {
    std::vector<std::size_t> files = files_of(text, operand, next);
    if (files.empty()) return macros_.forget_all();
    const bool may_be_skipped = std::any_of(files.begin(), files.end(), [&](std::size_t file) {
      return works_[file].once && works_[file].visited;
    });
    if (files.size() == 1 && !may_be_skipped) return follow(files[0]);
    std::vector<MacroTable::Changes> changes;
    for (const std::size_t file : files) {
      macros_.begin_branch();
      follow(file);
      changes.push_back(macros_.end_branch());
    }
    macros_.join(changes, may_be_skipped);
  }

  std::vector<std::size_t> files_of(std::size_t text, Line operand, bool next) {
    const SourceText& including = program_.texts[text];
    const std::string from = including.text.file();
    const auto name = included_name(operand, macros_);
    std::vector<std::size_t> files;
    if (name && works_.size() < kMaxFiles) {
      for (const std::string& file : headers_.find(*name, from)) {
        const std::size_t found = text_of(file);
        if (!next || !works_[found].open) files.push_back(found);
      }
    }
    if (files.empty()) note_missing(including.text, name, operand);
    return files;
  }

  void note_missing(const JoinedText& text, const std::optional<std::string>& name, Line operand) {
    if (program_.missing) return;
    const Text first = operand.empty() ? Text(text.text()).substr(0, 0) : operand[0].text;
    program_.missing = MissingInclude{.named_by_macro = !name,
                                      .name = name.value_or(std::string(first)),
                                      .file = text.file(),
                                      .line = text.line_of(first)};
  }

  Preprocessed& program_;
  Headers& headers_;
  MacroTable macros_;
  std::deque<Work> works_;  // of each text
  std::map<std::string, std::size_t> by_file_;
  std::size_t open_files_ = 0;
  std::size_t followed_ = 0;
  bool certain_ = true;
};

// Copies what may be compiled.
void keep_reached(const Work& work, SourceText& text) {
  text.compiled = text.conditions = Tokens{{}, text.tokens.unambiguous, text.tokens.unreadable};
  const std::vector<Token>& list = text.tokens.list;
  std::vector<bool> decided;  // for each open conditional in a branch that counts
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t end = list[i].directive ? end_of_directive(list, i) : i;
    const Text keyword = list[i].directive ? list[i + 1].text : Text{};
    Tokens* into = &text.compiled;
    if (work.reached[i] && begins_conditional(keyword)) {
      const auto outcome = work.outcomes.find(i);
      decided.push_back(outcome != work.outcomes.end() && outcome->second.decided);
    }
    const bool part = begins_conditional(keyword) || continues_conditional(keyword) || keyword == "endif";
    if (work.reached[i] && part && decided.back())
      into = keyword == "else" || keyword == "endif" ? nullptr : &text.conditions;
    if (work.reached[i] && keyword == "endif") decided.pop_back();
    for (; i < end; ++i) {
      if (into != nullptr && work.reached[i]) into->list.push_back(list[i]);
    }
    if (into != nullptr && work.reached[i]) into->list.push_back(list[i]);
  }
}

}  // namespace

Preprocessed preprocess(std::string_view source, const PreprocessorInputs& inputs, Headers& headers) {
  // Programs may count the text's terminator as part of it; compilers end there.
  while (source.ends_with('\0')) source.remove_suffix(1);
  Preprocessed program;
  program.texts.emplace_back(source, "");
  Walk walk(program, inputs, headers);
  bool certain = program.texts[0].tokens.unambiguous &&
                 !parse_options(inputs.options + " " + inputs.uncertain_options).cpp;
  certain = certain && walk.run();
  for (const std::string& given : inputs.given) {
    const std::size_t text = walk.text_of(given);
    if (!walk.works()[text].visited) walk.take_entire(text);
  }
  if (!certain) {
    program.missing.reset();
    for (std::size_t i = 0; i < walk.works().size(); ++i) walk.take_entire(i);
  }
  for (const Work& work : walk.works()) {
    SourceText& text = program.texts[work.text];
    if (work.entire) {
      text.compiled = text.tokens;
    } else {
      keep_reached(work, text);
    }
  }
  return program;
}

}  // namespace cleave::kernels
