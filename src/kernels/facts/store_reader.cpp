#include "kernels/facts/store_reader.h"

#include <array>
#include <map>
#include <optional>

#include "kernels/text/expression.h"
#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr std::array<Text, 8> kOtherSpaces = {"local",    "__local",    "private", "__private",
                                              "constant", "__constant", "image",   "sampler_t"};
constexpr std::array<Text, 6> kNoCalls = {"if", "for", "while", "switch", "return", "sizeof"};
constexpr std::array<Text, 2> kIds = {"get_global_id", "get_group_id"};
constexpr std::array<Text, 2> kLinearIds = {"get_global_linear_id", "get_group_linear_id"};
// A name that depends on everything: its value is not known here.
constexpr Dimensions kUnknown = 8 | kAllDimensions;

class StoreReader {
 public:
  StoreReader(const std::vector<Token>& list, Text name, const std::set<Text>& functions)
      : text_(list), functions_(functions) {
    found_.name = name;
  }

  FunctionStores run() && {
    if (!text_.balanced() || !read_head()) return std::move(found_);
    read_assignments();
    read_aliases();
    read_dependences();
    for (std::size_t i = body_; i < text_.size(); ++i) {
      if (const auto pointer = pointer_at(i)) read_access(i, *pointer);
    }
    return std::move(found_);
  }

 private:
  // NAME = VALUE, NAME += VALUE, NAME[...] = VALUE and so on.
  struct Assignment {
    std::size_t target = 0;  // the first name of the left side
    bool whole = false;      // which is all of it
    Range value;
  };

  // The call of which an expression is an argument.
  struct Call {
    std::size_t name = 0;
    std::size_t argument = 0;
    Range whole;  // of this argument
  };

  bool read_head() {
    std::size_t name = 0;
    while (name < text_.size() && !(text_[name] == found_.name && text_.is(name + 1, "("))) {
      found_.kernel |= text_.is(name, "kernel") || text_.is(name, "__kernel");
      ++name;
    }
    if (name >= text_.size()) return false;
    const std::size_t end = text_.match(name + 1);
    for (std::size_t begin = name + 2; begin < end;) {
      const std::size_t comma = text_.find(",", begin, end);
      read_parameter({begin, comma});
      begin = comma + 1;
    }
    body_ = text_.find("{", end + 1, text_.size());
    return body_ < text_.size();
  }

  void read_parameter(Range range) {
    std::size_t name = range.end;
    bool pointer = false;
    bool constant = false;
    bool other = false;
    bool global = false;
    for (std::size_t i = range.begin; i < range.end; i = text_.behind(i)) {
      pointer |= text_.is(i, "*") || text_.is(i, "[");
      constant |= text_.is(i, "const") && !pointer;
      other |= is_in(kOtherSpaces, text_[i]) || text_[i].starts_with("image");
      global |= text_.is(i, "global") || text_.is(i, "__global");
      if (text_.is_name(i)) name = i;
    }
    auto& parameter = found_.parameters.emplace_back();
    if (name == range.end) return;
    // What a pointer of no named space of an inner function points to is not known; in OpenCL C 1.2 it is private.
    const bool followed = pointer && !other && (global || found_.kernel);
    parameter.constant = followed && constant;
    parameter.followed = followed && !constant;
    if (parameter.followed) {
      parameter.pointer = found_.pointers.size();
      pointers_[text_[name]] = found_.pointers.size();
      found_.pointers.push_back(text_[name]);
    }
    if (!found_.kernel) depends_[text_[name]] = kUnknown;
  }

  [[nodiscard]] std::optional<std::size_t> pointer_at(std::size_t at) const {
    if (!text_.is_name(at) || text_.is(at - 1, ".") || (text_.is(at - 1, ">") && text_.is_arrow(at - 2)))
      return std::nullopt;
    const auto found = pointers_.find(text_[at]);
    return found != pointers_.end() ? std::optional(found->second) : std::nullopt;
  }

  // The first name of the postfix expression that ends before `end`; another token if it does not begin with a name.
  [[nodiscard]] std::size_t begin_of_target(std::size_t end) const {
    for (std::size_t at = end; at > body_;) {
      --at;
      if (text_.is(at, "]")) {
        at = text_.match(at);
        continue;
      }
      const bool member = text_.is(at - 1, ".");
      const bool by_arrow = at > 1 && text_.is_arrow(at - 2);
      if (!text_.is_name(at) || (!member && !by_arrow)) return at;
      at -= member ? 1 : 2;
    }
    return body_;
  }

  // Of the name at `at` with the types in front of it that it is cast to.
  [[nodiscard]] std::size_t begin_of_casts(std::size_t at) const {
    while (text_.is(at - 1, ")")) at = text_.match(at - 1);
    return at;
  }

  void read_assignments() {
    for (std::size_t i = body_; i < text_.size(); ++i) {
      if (!text_.is_assignment(i)) continue;
      const std::size_t end = text_.end_of_target(i);
      const std::size_t target = begin_of_target(end);
      if (!text_.is_name(target)) continue;
      const bool whole = target + 1 == end && !is_dereferenced(begin_of_casts(target));
      assignments_.push_back({target, whole, {i + 1, text_.end_of_value(i + 1)}});
    }
  }

  // A star there that does not declare: no type is in front of it.
  [[nodiscard]] bool is_dereferenced(std::size_t at) const {
    if (!text_.is(at - 1, "*")) return false;
    return text_.is_dereference(at - 1) || text_.is(at - 2, ")");
  }

  [[nodiscard]] Dimensions dimensions_of(Range range) const {
    Dimensions all = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!text_.is_name(i)) continue;
      const Text name = text_[i];
      if (is_in(kIds, name)) {
        all |= dimension_of_id(i);
      } else if (is_in(kLinearIds, name) || (functions_.contains(name) && text_.is(i + 1, "("))) {
        all |= kUnknown;
      } else if (const auto known = depends_.find(name); known != depends_.end()) {
        all |= known->second;
      }
    }
    return all;
  }

  [[nodiscard]] Dimensions dimension_of_id(std::size_t at) const {
    const bool plain = text_.is(at + 1, "(") && text_.is_number(at + 2) && text_.is(at + 3, ")");
    if (!plain) return kUnknown;
    const Text number = text_[at + 2];
    return number[0] >= '0' && number[0] <= '2' ? 1U << static_cast<unsigned>(number[0] - '0') : kUnknown;
  }

  // What each variable may depend on, whichever way the function goes.
  void read_dependences() {
    for (std::size_t i = body_; i < text_.size(); ++i) {
      const Dimensions asked = is_in(kIds, text_[i]) ? dimension_of_id(i) : 0;
      found_.dimensions |= asked != kUnknown ? asked : 0;
      // What a function puts there is not known.
      const bool passes_address = text_.is(i, "&") && (text_.is(i - 1, "(") || text_.is(i - 1, ","));
      if (passes_address && text_.is_name(i + 1) && !pointers_.contains(text_[i + 1]))
        depends_[text_[i + 1]] |= kUnknown;
    }
    constexpr int kMaxRounds = 16;
    bool changed = true;
    for (int round = 0; changed && round < kMaxRounds; ++round) {
      changed = false;
      for (const Assignment& each : assignments_) {
        // What is stored in memory says nothing of where.
        if (!each.whole && pointers_.contains(text_[each.target])) continue;
        Dimensions& known = depends_[text_[each.target]];
        const Dimensions all = known | dimensions_of(each.value);
        changed |= all != known;
        known = all;
      }
    }
  }

  // Pointers that are computed from others.
  void read_aliases() {
    constexpr int kMaxRounds = 8;
    bool changed = true;
    for (int round = 0; changed && round < kMaxRounds; ++round) {
      changed = false;
      for (const Assignment& each : assignments_) {
        if (!each.whole || is_value(each.target)) continue;
        for (std::size_t i = each.value.begin; i < each.value.end; ++i) {
          const auto pointer = pointer_at(i);
          if (pointer && is_bare(i)) changed |= join(text_[each.target], *pointer);
        }
      }
    }
  }

  // Whether the name is declared there without a star.
  [[nodiscard]] bool is_value(std::size_t at) const {
    return text_.is_name(at - 1) && !is_in(kNoCalls, text_[at - 1]) && !pointers_.contains(text_[at]) &&
           !text_.is(at - 1, "restrict") && !text_.is(at - 1, "else") && !text_.is(at - 1, "const") &&
           !text_[at - 1].ends_with("ptr");
  }

  // Whether the pointer itself is meant, or the address of an element.
  [[nodiscard]] bool is_bare(std::size_t at) const {
    if (call_around(at)) return false;
    if (text_.is(at - 1, "&") && text_.is_unary(at - 1)) return true;
    return !text_.is(at + 1, "[") && !text_.is_arrow(at + 1) && !is_dereferenced(at) &&
           !(text_.is(at - 1, "(") && text_.is_dereference(at - 2)) &&
           !text_.is(text_.end_of_value(at) + 1, "[");
  }

  bool join(Text name, std::size_t pointer) {
    const auto [known, added] = pointers_.try_emplace(name, pointer);
    if (added || known->second == pointer) return added;
    const std::size_t other = known->second;
    for (auto& [each, number] : pointers_) number = number == other ? pointer : number;
    for (auto& parameter : found_.parameters) {
      if (parameter.followed && parameter.pointer == other) parameter.pointer = pointer;
    }
    return true;
  }

  [[nodiscard]] std::optional<Call> call_around(std::size_t at) const {
    Call call;
    call.whole = {at, text_.end_of_value(at)};
    for (std::size_t i = at; i-- > body_;) {
      if (text_.is(i, ";") || text_.is(i, "{") || text_.is(i, "}") || text_.is(i, "[")) return std::nullopt;
      if (text_.is(i, ")") || text_.is(i, "]")) {
        i = text_.match(i);
      } else if (text_.is(i, ",")) {
        if (call.argument++ == 0) call.whole.begin = i + 1;
      } else if (text_.is(i, "(")) {
        if (text_.is_name(i - 1) && is_in(kNoCalls, text_[i - 1])) return std::nullopt;
        if (call.argument == 0) call.whole.begin = i + 1;
        if (text_.is_name(i - 1)) {
          call.name = i - 1;
          return call;
        }
        call.argument = 0;
        call.whole.end = text_.end_of_value(text_.match(i) + 1);
      }
    }
    return std::nullopt;
  }

  void read_access(std::size_t at, std::size_t pointer) {
    const bool address = text_.is(at - 1, "&") && text_.is_unary(at - 1);
    std::size_t end = at + 1;
    if (text_.is(end, "[") || text_.is_arrow(end)) {
      if (address) return passed(at, pointer);
      return add(pointer, at, {at, end});
    }
    const std::size_t start = begin_of_casts(at);
    if (is_dereferenced(start)) return add_range(pointer, {at, end}, {start - 1, end});
    if (text_.is(start - 1, "(")) {
      const std::size_t behind = text_.match(start - 1) + 1;
      // *(p + i)
      if (text_.is_dereference(start - 2)) return add_range(pointer, {at, behind - 1}, {start - 2, behind});
      // (p + i)[j], ((T*)p)[i]
      const bool is_call = text_.is_name(start - 2) && !text_.is_unary(start - 1);
      if (!is_call && (text_.is(behind, "[") || text_.is_arrow(behind)))
        return add(pointer, at, {start - 1, behind});
    }
    passed(at, pointer);
  }

  // Behind indices and members.
  [[nodiscard]] std::size_t end_of_chain(std::size_t at) const {
    while (text_.is(at, "[") || text_.is(at, ".") || text_.is_arrow(at))
      at = text_.is(at, "[") ? text_.behind(at) : at + (text_.is(at, ".") ? 2 : 3);
    return at;
  }

  // The element that begins with the pointer in `base`, whose name is at `at`, and goes on with indices and members.
  void add(std::size_t pointer, std::size_t at, Range base) {
    const std::size_t end = end_of_chain(base.end);
    add_range(pointer, {at, end}, {base.begin, end});
  }

  // `place`: with what makes it the element, a star in front of a pointer.
  void add_range(std::size_t pointer, Range element, Range place) {
    for (std::size_t begin = place.begin + 1; begin != place.begin;) {
      begin = place.begin;
      place = text_.with_parentheses(place);
      place.end = end_of_chain(place.end);
    }
    const std::size_t next = place.end;
    Access access;
    access.pointer = pointer;
    access.element = text_.text(element);
    access.dimensions = dimensions_of(element);
    const bool prefix = place.begin > 1 && text_.is_twice(place.begin - 2, "+-");
    const auto equals = assignment_behind(next);
    access.writes = prefix || text_.is_twice(next, "+-") || equals;
    access.reads = !equals || *equals != next;
    if (access.writes && !access.reads) access.value = constant_at(*equals + 1);
    found_.accesses.push_back(std::move(access));
  }

  [[nodiscard]] std::optional<std::size_t> assignment_behind(std::size_t at) const {
    for (std::size_t equals = at; equals < at + 3; ++equals) {
      if (text_.is_assignment(equals) && text_.end_of_target(equals) == at) return equals;
    }
    return std::nullopt;
  }

  [[nodiscard]] Text constant_at(std::size_t at) const {
    const bool constant = text_.is_number(at) || text_.is(at, "true") || text_.is(at, "false");
    return constant && text_.end_of_value(at) == at + 1 ? text_[at] : Text{};
  }

  // The pointer, or the address of an element, where it is not followed there.
  void passed(std::size_t at, std::size_t pointer) {
    const auto call = call_around(at);
    if (!call) return;
    const Text callee = text_[call->name];
    const Range arguments{call->name + 2, text_.match(call->name + 1)};
    Access access;
    access.pointer = pointer;
    access.dimensions = kUnknown;
    if (callee.starts_with("vload")) {
      access.reads = true;
      access.element = text_.text(arguments);
      access.dimensions = dimensions_of(arguments);
    } else if (callee.starts_with("vstore")) {
      const Range place{text_.find(",", arguments.begin, arguments.end) + 1, arguments.end};
      access.writes = true;
      access.element = text_.text(place);
      access.dimensions = dimensions_of(place);
    } else if (callee.starts_with("async_work_group")) {
      access.writes = call->argument == 0;
      access.reads = !access.writes;
      access.element = text_.text(call->whole);
      access.dimensions = dimensions_of(call->whole);
    } else if (functions_.contains(callee)) {
      access.callee = callee;
      access.argument = call->argument;
      access.element = std::to_string(at);
    } else {
      return;
    }
    found_.accesses.push_back(std::move(access));
  }

  const Expressions text_;
  const std::set<Text>& functions_;
  std::size_t body_ = 0;
  std::map<Text, std::size_t> pointers_;
  std::map<Text, Dimensions> depends_;
  std::vector<Assignment> assignments_;
  FunctionStores found_;
};

}  // namespace

FunctionStores read_stores(const std::vector<Token>& text, std::string_view name,
                           const std::set<std::string_view>& functions) {
  return StoreReader(text, name, functions).run();
}

}  // namespace cleave::kernels
