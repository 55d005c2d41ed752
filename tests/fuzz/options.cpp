#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/kit/command_line.h"

namespace fuzz {

namespace {

constexpr const char* kUsage =
    "usage: cleave_fuzz [--seed N] [--programs N] [--first-program N] [--cases N] [--first-case N]\n"
    "  [--platform NAME] [--folder PATH] [--most-items N] [--most-groups N] [--local-sizes N]\n"
    "  [--drop N,...] [--drop-steps N,...] [--without WHAT,...]\n"
    "  [--known-local-sizes] [--show]\n";

template <typename Read>
auto list(const std::string& words, const Read& read) {
  std::set<decltype(read(words))> entries;
  std::stringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');) entries.insert(read(word));
  return entries;
}

}  // namespace

Options read_options(int count, char** words) try {
  Options options;
  const auto numbers = [](std::set<unsigned>& into) {
    return [&into](const std::string& word) { into = list(word, kit::number<unsigned>); };
  };
  kit::CommandLine line;
  line.value("--seed", options.seed).value("--platform", options.platform).value("--folder", options.folder);
  line.value("--first-program", options.first_program).value("--programs", options.programs);
  line.value("--first-case", options.first_case).value("--cases", options.cases);
  line.value("--most-items", options.most_items).value("--most-groups", options.most_groups);
  line.value("--local-sizes", options.local_sizes).flag("--show", options.show);
  line.flag("--known-local-sizes", options.known_local_sizes);
  line.option("--drop", numbers(options.dropped)).option("--drop-steps", numbers(options.dropped_steps));
  line.option("--without", [&](const std::string& word) {
    options.without.merge(list(word, [](const std::string& one) { return one; }));
  });
  const std::vector<std::string> others = line.read(count, words);
  if (!others.empty()) throw std::invalid_argument(others.front());
  return options;
} catch (const std::logic_error& mistake) {
  std::fprintf(stderr, "cleave_fuzz: not understood: %s\n%s", mistake.what(), kUsage);
  std::exit(2);
}

}  // namespace fuzz
