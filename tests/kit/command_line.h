// The command lines of benchmarks: options by name, then words.
//
//   kit::CommandLine line;
//   line.flag("--quick", quick).value("--platform", platform).value("--rounds", rounds);
//   const std::vector<std::string> words = line.read(count, arguments);
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace kit {

// The whole word as a number. Throws std::invalid_argument with the word if it is not one, or does not fit.
template <class T>
T number(const std::string& word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) throw std::invalid_argument(word);
  return value;
}

class CommandLine {
 public:
  // Sets `flag`, which has to live until read(), as the others have.
  CommandLine& flag(const std::string& name, bool& flag) {
    flags_[name] = &flag;
    return *this;
  }
  // With the next word as its value: a text or a number.
  template <class T>
  CommandLine& value(const std::string& name, T& value) {
    return option(name, [&value](const std::string& word) {
      if constexpr (std::is_arithmetic_v<T>) {
        value = number<T>(word);
      } else {
        value = word;
      }
    });
  }
  // `read` gets the next word.
  CommandLine& option(const std::string& name, std::function<void(const std::string&)> read) {
    values_[name] = std::move(read);
    return *this;
  }

  // Reads the words behind the program's name, and returns those that belong to no option. Throws a std::logic_error for
  // an option that is unknown or has no value, or one whose value is no number: its text is the word in question.
  [[nodiscard]] std::vector<std::string> read(int count, char** arguments) const {
    std::vector<std::string> words;
    for (int i = 1; i < count; ++i) {
      const std::string word = arguments[i];
      if (const auto flag = flags_.find(word); flag != flags_.end()) {
        *flag->second = true;
      } else if (const auto value = values_.find(word); value != values_.end()) {
        if (++i == count) throw std::out_of_range(word);
        value->second(arguments[i]);
      } else if (word.starts_with("--")) {
        throw std::invalid_argument(word);
      } else {
        words.push_back(word);
      }
    }
    return words;
  }

 private:
  std::map<std::string, bool*> flags_;
  std::map<std::string, std::function<void(const std::string&)>> values_;
};

}  // namespace kit
