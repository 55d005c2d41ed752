#include "program_text.h"

#include "vocabulary.h"

namespace fuzz {

namespace {

const std::vector<Sizes> kRequired = {{8, 1, 1}, {4, 2, 1}, {1, 1, 1}, {3, 2, 2}};

Piece table(Random& random) {
  std::string text = "static constant uint table[16] = {";
  for (int entry = 0; entry < 16; ++entry) text += std::to_string(random.word()) + "u, ";
  return {Section::macros, text + "};\n", true};
}

std::string head(Random& random, const KernelSpec& kernel) {
  const std::string mark = random.chance(50) ? "__" : "";
  const std::string global = mark + "global ";
  std::string text = mark + "kernel ";
  if (kernel.size_required) {
    text += "__attribute__((reqd_work_group_size(";
    for (const std::size_t size : kernel.required) text += std::to_string(size) + ", ";
    text.replace(text.size() - 2, 2, "))) ");
  }
  return text + "void " + kernel.name + "(" + global + "uint* out, " + global + "const uint* in,\n    " +
         global + "uint* totals, " + global + "uint* cells, uint4 origin, uint4 extent, uint salt, " + mark +
         "local uint* scratch) {\n";
}

void write_kernel(Random& random, Vocabulary& words, const KernelSpec& kernel, ProgramText& text) {
  const auto piece = [&text](const std::string& words_of_it, bool fixed) {
    text.pieces.push_back({Section::kernels, words_of_it, fixed});
  };
  piece(head(random, kernel), true);
  piece("  uint acc = salt;\n  const uint slot = " + words.slot() + ";\n  const uint lid = " +
            words.local_id() + ";\n  const uint lsize = " + words.local_size() + ";\n",
        true);
  const unsigned statements = random.between(3, 9);
  for (unsigned count = 0; count < statements; ++count)
    piece(words.statement(static_cast<unsigned>(text.pieces.size())), false);
  const char* place = random.chance(20) ? "extent.w - 1u - slot" : "slot";
  piece(std::string("  if (slot < extent.w) out[") + place + "] = acc + lsize + lid;\n" +
            "  else totals[63] = 1u;\n}\n\n",
        true);
}

}  // namespace

void ProgramText::drop(const std::set<unsigned>& numbers) {
  for (const unsigned number : numbers)
    if (number < pieces.size() && !pieces[number].fixed) pieces[number].text = pieces[number].prototype = "";
}

std::string ProgramText::section(Section wanted) const {
  std::string text;
  for (const Piece& piece : pieces)
    if (piece.section == wanted) text += piece.text;
  return text;
}

std::string ProgramText::prototypes() const {
  std::string text;
  for (const Piece& piece : pieces) text += piece.prototype;
  return text;
}

std::string ProgramText::whole() const {
  return section(Section::macros) + section(Section::functions) + section(Section::kernels);
}

ProgramText write_program(Random random, const Capabilities& capabilities) {
  ProgramText text;
  Capabilities own = capabilities;
  if (random.chance(80))
    text.pieces.push_back({Section::options, capabilities.standard, true});
  else
    own.linear_ids = false;
  const bool depends_on_grouping = random.chance(85);
  Vocabulary words(random, own, random.chance(55), depends_on_grouping);
  text.pieces.push_back(table(random));
  for (unsigned count = random.below(4); count > 0; --count)
    text.pieces.push_back(words.macro(static_cast<unsigned>(text.pieces.size())));
  for (unsigned count = random.below(4); count > 0; --count)
    text.pieces.push_back(words.helper(static_cast<unsigned>(text.pieces.size())));
  const unsigned kernels = random.chance(75) ? 1 : 2;
  for (unsigned number = 0; number < kernels; ++number) {
    KernelSpec kernel{"k" + std::to_string(number), depends_on_grouping};
    kernel.size_required = random.chance(12);
    kernel.required = random.one_of(kRequired);
    text.kernels.push_back(kernel);
    write_kernel(random, words, kernel, text);
  }
  if (random.chance(40)) text.pieces.push_back({Section::options, " -cl-kernel-arg-info"});
  if (random.chance(15)) text.pieces.push_back({Section::options, " -w"});
  return text;
}

}  // namespace fuzz
