#include "vocabulary.h"

namespace fuzz {

namespace {

using Names = std::vector<std::string>;

// Built-in functions with a dimension, and without one.
const Names kPlain = {"get_global_id"};
const Names kGrouped = {"get_local_id", "get_local_size"};
const Names kSeeing = {"get_global_size", "get_global_offset"};
const Names kSeeingGrouped = {"get_group_id", "get_num_groups"};

void add(Names& all, const Names& more) { all.insert(all.end(), more.begin(), more.end()); }

const Names kOperators = {"+", "*", "^", "-", "&", "|"};

std::string without_get(const std::string& name) { return name.substr(4); }

}  // namespace

Vocabulary::Vocabulary(Random& random, const Capabilities& capabilities, bool sees_launch,
                       bool depends_on_grouping)
    : random_(random),
      capabilities_(capabilities),
      sees_(sees_launch),
      groups_(depends_on_grouping),
      dimensioned_(kPlain) {
  if (groups_) {
    add(dimensioned_, kGrouped);
    if (capabilities.linear_ids) add(dimensioned_, {"get_enqueued_local_size"});
    if (capabilities.linear_ids) add(plain_, {"get_local_linear_id"});
  }
  if (!sees_) return;
  // Twice, so that most reads are of values that splitting could change.
  for (int times = 0; times < 2; ++times) add(dimensioned_, kSeeing);
  for (int times = 0; times < 2 && groups_; ++times) add(dimensioned_, kSeeingGrouped);
  add(plain_, {"get_work_dim"});
  if (capabilities.linear_ids) add(plain_, {"get_global_linear_id"});
  if (capabilities.linear_ids && groups_) add(plain_, {"get_group_linear_id"});
}

std::string Vocabulary::with(std::string pattern, const std::string& argument) const {
  const std::size_t place = pattern.find('%');
  return place == std::string::npos ? pattern : pattern.replace(place, 1, argument);
}

std::string Vocabulary::dimension() {
  if (random_.chance(65)) return std::to_string(random_.below(3));
  static const Names others = {"3",         "7u",       "0xffffffffu",      "1u + 1u",  "acc & 3u",
                               "slot & 3u", "acc & 1u", "(salt >> 3) & 1u", "lid & 3u", "(uint)in[5] & 3u"};
  return random_.one_of(others);
}

// Reads a built-in function, written in one of many ways.
std::string Vocabulary::call() {
  std::string name = random_.one_of(dimensioned_);
  switch (random_.below(12)) {
    case 0:
      return "(uint)(" + name + "( %))";
    case 1:
      return "(uint)" + name + " (%)";
    case 2:
      return "(uint)" + name + "\n    (%)";
    case 3:
      return random_.chance(30) ? "(uint)" + name.insert(name.size() / 2, "\\\n") + "(%)"
                                : "(uint)" + name + "(%)";
    case 4:
      return "(uint)" + name + "/* of */(%)";
    default:
      return "(uint)" + name + "(%)";
  }
}

std::string Vocabulary::builtin() {
  if (!plain_.empty() && random_.chance(20)) return "(uint)" + random_.one_of(plain_) + "()";
  if (!readers_.empty() && random_.chance(40)) return with(random_.one_of(readers_), dimension());
  return with(call(), dimension());
}

std::string Vocabulary::value(unsigned depth) {
  if (depth == 0 || random_.chance(20)) {
    switch (random_.below(10)) {
      case 0:
        return "acc";
      case 1:
        return "slot";
      case 2:
        return "salt";
      case 3:
        return std::to_string(random_.word()) + "u";
      case 4:
        return "in[(acc + " + std::to_string(random_.below(999)) + "u) & 1023u]";
      case 5:
        return "table[slot & 15u]";
      default:
        return builtin();
    }
  }
  const std::string left = value(depth - 1);
  const std::string right = value(depth - 1);
  switch (random_.below(9)) {
    case 0:
      return "(" + left + " >> (" + right + " & 7u))";
    case 1:
      return "(" + left + " < " + right + " ? " + left + " : " + right + " + 1u)";
    case 2:
      return "rotate(" + left + ", " + right + " & 31u)";
    case 3:
      return "mul_hi(" + left + ", " + right + ")";
    case 4:
      return "in[(" + left + " + " + right + ") & 1023u]";
    case 5:
      return mixers_.empty() ? "max(" + left + ", " + right + ")"
                             : random_.one_of(mixers_) + "(" + left + ", " + right + ")";
    default:
      return "(" + left + " " + random_.one_of(kOperators) + " " + right + ")";
  }
}

Piece Vocabulary::macro(unsigned number) {
  const std::string own = std::to_string(number);
  const std::string name = random_.one_of(dimensioned_);
  const auto define = [](const std::string& text) {
    return Piece{Section::macros, "#define " + text + "\n"};
  };
  // Token pasting alone makes the scan undecided, so kernels that do not read such values seldom paste.
  switch (random_.below(sees_ || random_.chance(10) ? 8 : 6)) {
    case 0:
      readers_.push_back("(uint)alias" + own + "(%)");
      return define("alias" + own + " " + name);
    case 1:
      readers_.push_back("wrap" + own + "(%)");
      return define("wrap" + own + "(d) ((uint)" + name + "(d) + 1u)");
    case 2:
      readers_.push_back("call" + own + "(" + name + ", %)");
      return define("call" + own + "(f, d) (uint)f(d)");
    case 3:
      readers_.push_back("sum" + own + "(" + name + ")");
      return define("sum" + own + "(f) (uint)(f(0) * 3u + f(1) * 5u + f(2))");
    case 4:
      readers_.push_back("(uint)outer" + own + "(%)");
      return define("outer" + own + " inner" + own + "\n#define inner" + own + " " + name);
    case 5:
      readers_.push_back("(uint)outside" + own + "(%)");
      return {Section::options,
              " -D" + std::string(random_.chance(50) ? " " : "") + "outside" + own + "=" + name};
    case 6:
      readers_.push_back("read" + own + "(" + without_get(name) + ", %)");
      return define("read" + own + "(what, d) (uint)get_##what(d)");
    default:
      readers_.push_back("(uint)name" + own + "(" + (sees_ && groups_ ? "group" : "global") + ")(%)");
      return define("name" + own + "(what) get_ ## what ## _id");
  }
}

Piece Vocabulary::helper(unsigned number) {
  const std::string own = std::to_string(number);
  const std::string first = with(call(), "d");
  const std::string second = with(!readers_.empty() && random_.chance(50) ? readers_.back() : call(), "d");
  const auto function = [](const std::string& head, const std::string& body) {
    return Piece{Section::functions, head + " {\n" + body + "}\n", false, head + ";\n"};
  };
  switch (random_.below(5)) {
    case 0: {
      const std::string name = sees_ && random_.chance(30) ? "get_group_id_twice" + own : "helper" + own;
      Piece piece = function("uint " + name + "(uint d)", "  return " + first + " * 3u + " + second + ";\n");
      readers_.push_back(name + "(%)");
      return piece;
    }
    case 1:
      readers_.push_back("total" + own + "(%)");
      return function("uint total" + own + "(uint count)",
                      "  uint sum = 0u;\n  for (uint d = 0u; d < (count & 3u); ++d) sum = sum * 7u + " +
                          first + ";\n  return sum;\n");
    case 2:
      readers_.push_back("chosen" + own + "(%)");
      return function("uint chosen" + own + "(uint d)",
                      "  switch (d) {\n    case 0: return " + with(call(), "0") + ";\n    case 1: return " +
                          with(call(), "1") + ";\n    default: return " + first + ";\n  }\n");
    case 3:
      mixers_.push_back("mix" + own);
      return function(
          "uint mix" + own + "(uint a, uint b)",
          "  uint c = a;\n  for (uint i = 0u; i < (b & 3u); ++i) c = c * 1664525u + b;\n  return c ^ " +
              with(call(), std::to_string(random_.below(3))) + ";\n");
    default:
      mixers_.push_back("plain_mix" + own);
      return function("uint plain_mix" + own + "(uint a, uint b)",
                      "  return (a ^ (b >> 3)) * 2246822519u + b;\n");
  }
}

std::string Vocabulary::slot() {
  const unsigned style = sees_ ? random_.below(!capabilities_.linear_ids ? 2 : groups_ ? 4 : 3) : 0;
  switch (style) {
    case 1:
      return "(uint)(((get_global_id(2) - get_global_offset(2)) * get_global_size(1) +\n      "
             "(get_global_id(1) - "
             "get_global_offset(1))) * get_global_size(0) + (get_global_id(0) - get_global_offset(0)))";
    case 2:
      return "(uint)get_global_linear_id()";
    case 3:
      return "(uint)(((get_group_id(2) * get_enqueued_local_size(2) + get_local_id(2)) * get_global_size(1) "
             "+\n      "
             "get_group_id(1) * get_enqueued_local_size(1) + get_local_id(1)) * get_global_size(0) +\n      "
             "get_group_id(0) * get_enqueued_local_size(0) + get_local_id(0))";
    default:
      return "(((uint)get_global_id(2) - origin.z) * extent.y + ((uint)get_global_id(1) - origin.y)) * "
             "extent.x +\n   "
             "   ((uint)get_global_id(0) - origin.x)";
  }
}

std::string Vocabulary::local_id() {
  if (!groups_) return "0u";
  if (capabilities_.linear_ids && random_.chance(40)) return "(uint)get_local_linear_id()";
  return "(uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + "
         "get_local_id(0))";
}

std::string Vocabulary::local_size() {
  return groups_ ? "(uint)(get_local_size(0) * get_local_size(1) * get_local_size(2))" : "1u";
}

}  // namespace fuzz
