#include "kernels/text/unused_macros.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/text/token_pasting.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Calls visit(begin, end) for each definition, without the end of its line, and other(token) for all other tokens.
template <typename Visit, typename Other>
void for_each_definition(const std::vector<Token>& list, Visit visit, Other other) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].directive || !list[i + 1].is("define") || list[i + 2].kind != Token::Kind::name) {
      other(list[i]);
      // The tokens behind the "#" of another directive must not begin one.
      while (list[i].directive && list[i].kind != Token::Kind::end_of_directive) other(list[++i]);
      continue;
    }
    const std::size_t begin = i;
    i = end_of_directive(list, i);
    visit(begin, i);
  }
}

class Uses {
 public:
  explicit Uses(std::span<const Text> kept) : kept_(kept) {}

  void add(const Tokens& tokens) {
    for_each_definition(
        tokens.list,
        [&](std::size_t begin, std::size_t end) {
          Definition& definition = definitions_[tokens.list[begin + 2].text];
          for (std::size_t i = begin + 3; i < end; ++i) {
            definition.pastes |= tokens.list[i].is("##");
            if (tokens.list[i].kind == Token::Kind::name) definition.names.push_back(tokens.list[i].text);
          }
          if (may_be_used_elsewhere(tokens.list[begin + 2].text)) use(tokens.list[begin + 2].text);
        },
        [&](const Token& token) { add(token); });
  }

  void add(const Token& token) {
    pastes_ |= token.is("##");
    if (token.kind == Token::Kind::name) use(token.text);
  }

  void finish() {
    while (!open_.empty()) {
      const auto found = definitions_.find(open_.back());
      open_.pop_back();
      if (found == definitions_.end()) continue;
      pastes_ |= found->second.pastes;
      for (const Text name : found->second.names) use(name);
    }
  }

  // Adds those that could be pasted together, and what they use.
  void add_pasted(const TokenPasting& pasting) {
    for (const auto& [name, definition] : definitions_) {
      if (!used(name) && pasting.can_join(name)) use(name);
    }
    finish();
  }

  [[nodiscard]] bool used(Text name) const { return used_.contains(name); }
  [[nodiscard]] bool pastes() const { return pastes_; }

 private:
  struct Definition {
    std::vector<Text> names;
    bool pastes = false;
  };

  // Names with two underscores or an underscore and a capital are the compiler's for any use (C99 7.1.3). Of the others PoCL's
  // macros use those with "_cl".
  [[nodiscard]] bool may_be_used_elsewhere(Text name) const {
    const bool reserved = name.starts_with('_') && (name.size() == 1 || name[1] < 'a' || name[1] > 'z');
    return reserved || name.starts_with("_cl") || std::find(kept_.begin(), kept_.end(), name) != kept_.end();
  }

  void use(Text name) {
    if (used_.insert(name).second) open_.push_back(name);
  }

  std::span<const Text> kept_;
  std::unordered_map<Text, Definition> definitions_;  // all of a name together
  std::unordered_set<Text> used_;
  std::vector<Text> open_;  // used, and not yet followed
  bool pastes_ = false;     // a "##" is used
};

}  // namespace

void drop_unused_macros(std::deque<SourceText>& texts, const Tokens& options,
                        std::span<const Text> kept_names) {
  Uses uses(kept_names);
  for (const Token& token : options.list) uses.add(token);
  for (const SourceText& text : texts) {
    uses.add(text.compiled);
    uses.add(text.conditions);
  }
  uses.finish();
  if (uses.pastes()) {
    std::vector<const Tokens*> all;
    for (const SourceText& text : texts) {
      all.push_back(&text.compiled);
      all.push_back(&text.conditions);
    }
    uses.add_pasted(TokenPasting(all, options));
  }
  for (SourceText& text : texts) {
    std::vector<Token> kept;
    const std::vector<Token>& list = text.compiled.list;
    for_each_definition(
        list,
        [&](std::size_t begin, std::size_t end) {
          if (!uses.used(list[begin + 2].text)) return;
          kept.insert(kept.end(), list.begin() + static_cast<std::ptrdiff_t>(begin),
                      list.begin() + static_cast<std::ptrdiff_t>(end + 1));
        },
        [&](const Token& token) { kept.push_back(token); });
    text.compiled.list = std::move(kept);
  }
}

}  // namespace cleave::kernels
