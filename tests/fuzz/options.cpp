#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

namespace fuzz {

namespace {

constexpr const char* kUsage =
    "usage: cleave_fuzz [--seed N] [--programs N] [--first-program N] [--cases N] [--first-case N]\n"
    "  [--platform NAME] [--folder PATH] [--most-items N] [--most-groups N] [--local-sizes N]\n"
    "  [--drop N,...] [--drop-steps N,...] [--without WHAT,...] [--show]\n";

[[noreturn]] void refuse(const std::string& word) {
  std::fprintf(stderr, "cleave_fuzz: not understood: %s\n%s", word.c_str(), kUsage);
  std::exit(2);
}

std::uint64_t number(const std::string& word) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0') refuse(word);
  return value;
}

template <typename T, typename Read>
std::set<T> list(const std::string& words, Read read) {
  std::set<T> entries;
  std::stringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');) entries.insert(static_cast<T>(read(word)));
  return entries;
}

}  // namespace

Options read_options(int count, char** words) {
  Options options;
  const auto plain = [](unsigned& value) {
    return [&value](const std::string& word) { value = static_cast<unsigned>(number(word)); };
  };
  const auto text = [](const std::string& word) { return word; };
  const std::map<std::string, std::function<void(const std::string&)>> meaning = {
      {"--seed", [&](const std::string& word) { options.seed = number(word); }},
      {"--first-program", plain(options.first_program)},
      {"--programs", plain(options.programs)},
      {"--first-case", plain(options.first_case)},
      {"--cases", plain(options.cases)},
      {"--most-items", plain(options.most_items)},
      {"--most-groups", plain(options.most_groups)},
      {"--local-sizes", plain(options.local_sizes)},
      {"--platform", [&](const std::string& word) { options.platform = word; }},
      {"--folder", [&](const std::string& word) { options.folder = word; }},
      {"--drop", [&](const std::string& word) { options.dropped = list<unsigned>(word, number); }},
      {"--drop-steps",
       [&](const std::string& word) { options.dropped_steps = list<unsigned>(word, number); }},
      {"--without", [&](const std::string& word) { options.without.merge(list<std::string>(word, text)); }},
  };
  for (int place = 1; place < count; ++place) {
    const std::string word = words[place];
    if (word == "--show") {
      options.show = true;
      continue;
    }
    const auto found = meaning.find(word);
    if (found == meaning.end() || place + 1 == count) refuse(word);
    found->second(words[++place]);
  }
  return options;
}

}  // namespace fuzz
