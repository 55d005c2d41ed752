// Runs a harness without libFuzzer: over all seeds, then over mutations of them. The same seeds and number of rounds give the
// same inputs on every machine and with every compiler.
//
// usage: PROGRAM SEEDS ROUNDS
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include "harness.h"

namespace {

using Input = std::string;

constexpr std::size_t kLargestInput = 16'384;

Input contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Input> seeds_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // directory order is unspecified
  std::vector<Input> seeds(paths.size());
  std::transform(paths.begin(), paths.end(), seeds.begin(), contents);
  return seeds;
}

// Inputs by truncating, duplicating, mixing and corrupting the seeds. The standard specifies mt19937 but not the
// distributions, so none are used here.
class Mutations {
 public:
  explicit Mutations(const std::vector<Input>& seeds) : seeds_(seeds) {}

  Input next() {
    Input input = seed();
    const std::size_t changes = 1 + below(4);
    for (std::size_t i = 0; i < changes; ++i) change(input);
    if (input.size() > kLargestInput) input.resize(kLargestInput);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const Input& seed() { return seeds_[below(seeds_.size())]; }

  Input piece_of(const Input& input) {
    const std::size_t begin = below(input.size());
    return input.substr(begin, 1 + below(std::min<std::size_t>(input.size() - begin, 64)));
  }

  void change(Input& input) {
    const std::size_t at = below(input.size());
    switch (below(8)) {
      case 0:
        return input.resize(at);
      case 1:
        return void(input.erase(at, 1 + below(8)));
      case 2:
        return void(input.insert(at, 1, static_cast<char>(below(256))));
      case 3:
        return void(input.insert(at, piece_of(input)));
      case 4:
        return void(input.insert(at, piece_of(seed())));
      case 5:
        return void(input.replace(at, piece_of(input).size(), piece_of(seed())));
      case 6:
        return void(input.append(seed()));
      default:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
    }
  }

  const std::vector<Input>& seeds_;
  std::mt19937 random_{1};
};

// Keeps each input in a file until it has passed, so that one that crashes the program is found there.
class Runs {
 public:
  explicit Runs(const std::string& program)
      : path_(program + ".input"), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {}
  ~Runs() {
    close(file_);
    unlink(path_.c_str());
  }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // False if the input cannot be written.
  bool run(const Input& input) {
    const auto size = static_cast<ssize_t>(input.size());
    if (ftruncate(file_, 0) != 0 || pwrite(file_, input.data(), input.size(), 0) != size) return false;
    // A block of exactly that size, so that a sanitizer detects reads beyond it.
    std::vector<std::uint8_t> block(input.begin(), input.end());
    block.shrink_to_fit();
    LLVMFuzzerTestOneInput(block.data(), block.size());
    return true;
  }

 private:
  const std::string path_;
  const int file_;
};

}  // namespace

int main(int count, char** arguments) {
  std::size_t rounds = 0;
  const char* const number = count == 3 ? arguments[2] : "";
  if (std::from_chars(number, number + std::strlen(number), rounds).ec != std::errc{}) {
    std::fprintf(stderr, "usage: %s SEEDS ROUNDS\n", arguments[0]);
    return 2;
  }
  const std::vector<Input> seeds = seeds_in(arguments[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds in %s\n", arguments[0], arguments[1]);
    return 1;
  }
  Runs runs(arguments[0]);
  bool kept = std::all_of(seeds.begin(), seeds.end(), [&](const Input& seed) { return runs.run(seed); });
  Mutations mutations(seeds);
  for (std::size_t round = 0; round < rounds; ++round) kept &= runs.run(mutations.next());
  if (!kept) std::fprintf(stderr, "%s: inputs could not be written beside it\n", arguments[0]);
  return kept ? 0 : 1;
}
