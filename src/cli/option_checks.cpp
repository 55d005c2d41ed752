#include "cli/option_checks.h"

#include <charconv>
#include <filesystem>
#include <string_view>

namespace cleave::cli {
namespace {

// The whole of `text` as a number; 0 where it is none.
template <typename Number>
Number number_in(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? number : Number{};
}

bool is_count(std::string_view text) { return number_in<unsigned>(text) >= 1; }

bool is_decimal(std::string_view text) {
  return !text.empty() && text != "." && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         text.find('.') == text.rfind('.');
}

bool is_policy(std::string_view text) {
  constexpr std::string_view fixed = "fixed:";
  constexpr std::string_view quantum = "quantum:";
  if (text.starts_with(fixed)) return is_count(text.substr(fixed.size()));
  if (text.starts_with(quantum)) return is_decimal(text.substr(quantum.size()));
  return text == "off" || text == "alpha" || text == "budget";
}

std::string unless(bool good, const std::string& value, const char* expected) {
  return good ? "" : "'" + value + "' is not " + expected;
}

}  // namespace

std::string check_count(const std::string& value) {
  return unless(is_count(value), value, "a whole number from 1 on");
}

std::string check_policy(const std::string& value) {
  return unless(is_policy(value), value, "off, alpha, budget, quantum:MS or fixed:N with N from 1 on");
}

std::string check_launch(const std::string& value) {
  const bool good = value == "auto" || value == "sequential" || value == "queued" || value == "pipelined";
  return unless(good, value, "auto, sequential, queued or pipelined");
}

std::string check_wait(const std::string& value) {
  const bool good = value == "auto" || value == "native" || value == "polite";
  return unless(good, value, "auto, native or polite");
}

std::string check_remote(const std::string& value) {
  bool good = !value.empty();
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(one.size() == rest.size() ? rest.size() : one.size() + 1);
    const std::size_t colon = one.find(':');
    const std::string_view kind = one.substr(0, colon);
    good &= colon != std::string_view::npos && colon + 1 < one.size() &&
            (kind == "tcp" || kind == "tls" || kind == "unix" || kind == "vsock");
  }
  return unless(good, value,
                "tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:CID:PORT, or several with commas between");
}

std::string check_seconds(const std::string& value) {
  const double seconds = number_in<double>(value);
  return unless(seconds >= 0.1 && seconds <= 3600, value, "a number of seconds from 0.1 to 3600");
}

std::string check_file(const std::string& value) {
  std::error_code ignored;
  return unless(std::filesystem::is_regular_file(value, ignored), value, "a file that exists");
}

}  // namespace cleave::cli
