#include "cli/option_checks.h"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/settings/settings.h"

namespace cleave::cli {
namespace {

std::string unless(bool valid, const std::string& value, const std::string& expected) {
  return valid ? "" : "'" + value + "': expected " + expected;
}

}  // namespace

std::string check_setting(const char* variable, const std::string& value) {
  for (const base::Setting& setting : base::settings_list()) {
    if (std::string_view(setting.variable) != variable) continue;
    base::Settings scratch;
    return unless(!value.empty() && setting.apply(scratch, value), value, setting.expected);
  }
  return std::string(variable) + " is not a setting";
}

std::string check_seconds(const std::string& value) {
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  const bool valid = error == std::errc{} && stop == end && seconds >= 0.1 && seconds <= 3600;
  return unless(valid, value, "a number of seconds from 0.1 to 3600");
}

std::string check_file(const std::string& value) {
  std::error_code ignored;
  return unless(std::filesystem::is_regular_file(value, ignored), value, "a file that exists");
}

}  // namespace cleave::cli
