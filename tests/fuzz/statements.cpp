#include "vocabulary.h"

// The layout of `totals`, where each kind of update has its words: 0 add, 8 or, 16 and, 24 xor, 32 max, 40 min, 48 inc,
// 56 histograms, 60 the number of finished groups, 61 their sum, 63 results without an index, 64 each group's partial result.
namespace fuzz {

namespace {

constexpr const char* kFences[] = {"CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE",
                                   "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"};

std::string barrier(Random& random) { return std::string("  barrier(") + kFences[random.below(4)] + ");\n"; }

}  // namespace

std::string Vocabulary::statement(unsigned number) {
  const unsigned kind = random_.below(100);
  if (kind < 32) return "  acc = acc * 2654435761u + " + value(2) + ";\n";
  if (kind < 44 && capabilities_.communication) return atomic();
  if (kind < 56 && groups_) return exchange(number);
  if (kind < 61 && groups_ && capabilities_.communication) return histogram(number);
  if (kind < 68 && sees_ && groups_ && capabilities_.communication) return last_group(number);
  if (kind < 75 && sees_) return stride(number);
  if (kind < 81) return branch();
  if (kind < 88) return loop(number);
  if (kind < 95) return types(number);
  return oddity(number);
}

std::string Vocabulary::atomic() {
  static const std::vector<std::string> kinds = {"add", "or", "and", "xor", "max", "min"};
  const unsigned kind = random_.below(kinds.size() + 1);
  const std::string place = "&totals[" + std::to_string(kind * 8) + "u + (" + value(1) + " & 7u)]";
  if (kind == kinds.size()) return "  atomic_inc(" + place + ");\n";
  return "  atomic_" + kinds[kind] + "(" + place + ", " + value(1) + ");\n";
}

std::string Vocabulary::exchange(unsigned number) {
  const std::string own = std::to_string(number);
  std::string text = "  scratch[lid] = " + value(1) + ";\n" + barrier(random_);
  if (random_.chance(50))
    text += "  acc += scratch[(lid * 5u + " + value(1) + ") % lsize];\n";
  else
    text += "  for (uint i" + own + " = 0u; i" + own + " < lsize; ++i" + own +
            ") acc = acc * 3u + scratch[i" + own + "];\n";
  return text + barrier(random_);
}

std::string Vocabulary::histogram(unsigned number) {
  const std::string counts = "counts" + std::to_string(number);
  const std::string all = "  for (uint i = lid; i < 8u; i += lsize) ";
  return "  local uint " + counts + "[8];\n" + all + counts + "[i] = 0u;\n" + barrier(random_) +
         "  atomic_inc(&" + counts + "[" + value(1) + " & 7u]);\n" + barrier(random_) + all +
         "atomic_add(&totals[56u + (i & 3u)], " + counts + "[i] * (i + 1u));\n  acc += " + counts +
         "[slot & 7u];\n" + barrier(random_);
}

// The last group to finish adds up the partial results of all groups.
std::string Vocabulary::last_group(unsigned number) {
  const std::string last = "last" + std::to_string(number);
  const std::string group = capabilities_.linear_ids && random_.chance(50)
                                ? "(uint)get_group_linear_id()"
                                : "(uint)((get_group_id(2) * get_num_groups(1) + get_group_id(1)) * "
                                  "get_num_groups(0) + get_group_id(0))";
  return "  local uint " + last +
         ";\n  if (lid == 0u) {\n    const uint groups = (uint)(get_num_groups(0) * "
         "get_num_groups(1) * get_num_groups(2));\n    ((volatile global uint*)totals)[64u + (" +
         group + " & 4095u)] = " + value(1) + ";\n    mem_fence(CLK_GLOBAL_MEM_FENCE);\n    " + last +
         " = atomic_inc(&totals[60]) == groups - 1u;\n    if (" + last +
         ") {\n      mem_fence(CLK_GLOBAL_MEM_FENCE);\n      uint sum = 0u;\n      for (uint g = 0u; g < "
         "min(groups, "
         "4096u); ++g) sum = sum * 3u + ((volatile global uint*)totals)[64u + g];\n      totals[61] = sum;\n "
         "     "
         "totals[60] = 0u;\n    }\n  }\n" +
         barrier(random_);
}

std::string Vocabulary::stride(unsigned number) {
  const std::string step = "step" + std::to_string(number);
  return "  const uint " + step +
         " = max((uint)(get_global_size(0) * get_global_size(1) * get_global_size(2)), 1u);\n" +
         "  for (uint i = slot; i < 1024u; i += " + step + ") cells[i] = cells[i] * 5u + in[i] + i * " +
         std::to_string(random_.word() | 1U) + "u;\n";
}

std::string Vocabulary::branch() {
  return "  if ((" + value(1) + " & " + std::to_string(random_.between(1, 3)) +
         "u) != 0u) acc = acc * 3u + " + value(2) + ";\n  else acc ^= " + value(1) + ";\n";
}

std::string Vocabulary::loop(unsigned number) {
  const std::string d = "d" + std::to_string(number);
  static const std::vector<std::string> ends = {"3u", "4u", "(acc & 3u)"};
  const std::string end = sees_ && random_.chance(40) ? "get_work_dim()" : random_.one_of(ends);
  const std::string pragma = random_.chance(10) ? "  #pragma unroll\n" : "";
  return pragma + "  for (uint " + d + " = 0u; " + d + " < " + end + "; ++" + d +
         ")\n    acc = acc * 31u + " + with(call(), d) + ";\n";
}

std::string Vocabulary::types(unsigned number) {
  const std::string own = std::to_string(number);
  const std::string name = random_.one_of(dimensioned_);
  const std::string read = name + "(" + dimension() + ")";
  switch (random_.below(8)) {
    case 0:
      return "  acc += (uint)sizeof(" + read + ") + (uint)sizeof(" + name + "(0) + 1);\n";
    case 1:
      return "  acc += (" + read + " - " + read + " - 1 > 0) ? 3u : 5u;\n";
    case 2:
      return "  { const ulong wide = (ulong)" + read +
             " * 0x100000001ul; acc ^= (uint)(wide >> 32) + (uint)wide; }\n";
    case 3:
      return "  acc += (uint)((float)(" + read + " & 0xffffu) * 0.5f);\n";
    case 4:
      return "  { uint4 four = (uint4)(" + value(1) + ", " + value(0) +
             ", salt, acc); four = four.wzyx * (uint4)(3u, 5u, 7u, " +
             "9u); acc = four.x ^ four.y ^ four.z ^ four.w; }\n";
    case 5:
      return "  size_t ids" + own + "[3] = {" + name + "(0), " + name + "(1), " + name +
             "(2)};\n  acc += (uint)ids" + own + "[acc % 3u];\n";
    case 6:
      return "  acc += (uint)((void)" + read + ", " + random_.one_of(dimensioned_) + "(1));\n";
    default:
      return sees_ ? "  acc += (get_work_dim() - 5 > 0) ? 7u : 9u + (uint)sizeof(get_work_dim());\n"
                   : "  acc += (uint)(uchar)" + read + ";\n";
  }
}

// Valid but unusual code.
std::string Vocabulary::oddity(unsigned number) {
  const std::string own = std::to_string(number);
  const std::string name = random_.one_of(dimensioned_);
  switch (random_.below(12)) {
    case 0:
      return "  acc += __LINE__;\n";
    case 1:
      return "#line " + std::to_string(random_.below(5000) + 1) + "\n  acc += __LINE__;\n";
    case 2:
      return "#ifdef " + name + "\n  acc += 1u;\n#else\n  acc += 2u;\n#endif\n";
    case 3:
      return "  // " + name + "(0) is not read here, nor is /* " + name + "\n  /* " + name +
             " // */ acc += 3u;\n";
    case 4:
      return "  constant char* words" + own + " = \"" + name + "(0) \\\" // \";\n  acc += (uint)words" + own +
             "[acc % 9u];\n";
    case 5:
      return "  { uint " + name + " = 3u; acc += " + name + "; }\n";
    case 6:
      return "  { struct { uint " + name + "; uint other; } both = {acc, 5u}; acc = both." + name +
             " * 3u + both.other; }\n";
    case 7:
      return "#define letters" + own + "(x) #x\n#define expanded" + own + "(x) letters" + own +
             "(x)\n  acc += (uint)sizeof(" + (random_.chance(50) ? "letters" : "expanded") + own + "(" +
             name + "));\n";
    case 8:
      return "  acc += in<:" + name + "(0) & 7u:>;\n";
    case 9:
      return "#define " + name + "(d) (" + name + "(d) + 1)\n  acc = acc * 5u + (uint)" + name +
             "(0);\n#undef " + name + "\n";
    case 10:
      return "#undef " + name + "\n  acc = acc * 5u + (uint)" + name + "(0);\n";
    default:
      return "#if defined(" + name + ") || " + name + " + 1 > 1\n  acc += 1u;\n#endif\n";
  }
}

}  // namespace fuzz
