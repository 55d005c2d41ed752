#include "interpose/programs/prelude_text.h"

#include "base/text/number.h"
#include "kernels/prelude/prelude.h"

namespace cleave::interpose {
namespace {

// The option for what some drivers do by default, without any options. It stands behind the switch and alone, where no option of the
// program's that ends like this does: that comes before the switch.
constexpr std::string_view kKeepArgumentInfo = " -cl-kernel-arg-info";

// Removes the first line from `text` and returns it without its end.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Line `number`, from 1; empty if there is none.
std::string_view line_of(std::string_view text, std::uint64_t number) {
  std::string_view line;
  for (; number > 0 && !text.empty(); --number) line = take_line(text);
  return number == 0 ? line : std::string_view{};
}

// The number in FILE:NUMBER:COLUMN: MESSAGE; 0 if the line has another form.
std::uint64_t place_of(std::string_view message) {
  const auto begin = message.find(':');
  if (begin == std::string_view::npos) return 0;
  const auto end = message.find(':', begin + 1);
  if (end == std::string_view::npos) return 0;
  constexpr std::uint64_t kMax = 1'000'000;
  return base::parse_unsigned(message.substr(begin + 1, end - begin - 1), 1, kMax).value_or(0);
}

// Whether these options end with one that takes no operand from what follows.
bool is_complete(std::string_view options) {
  if (options.find_first_of("\"'\\") != std::string_view::npos) return false;
  const auto end = options.find_last_not_of(" \t\n\r\v\f");
  if (end == std::string_view::npos) return false;
  options = options.substr(0, end + 1);
  const auto begin = options.find_last_of(" \t\n\r\v\f");
  const std::string_view last = options.substr(begin == std::string_view::npos ? 0 : begin + 1);
  if (!last.starts_with('-')) return true;
  const auto has_operand = [last](std::string_view name) {
    return last.starts_with(name) && last.size() > name.size();
  };
  return has_operand("-D") || has_operand("-I") || has_operand("-U") || has_operand("-cl-") || last == "-w" ||
         last == "-Werror";
}

}  // namespace

bool can_inject_prelude(std::string_view source) {
  // A byte order mark is recognized at the very beginning only.
  return !source.starts_with("\xef\xbb\xbf") &&
         source.find(kernels::kReservedPrefix) == std::string_view::npos;
}

// The switch comes last, where it moves no definition to another line of the command line, which logs name; or first, where no
// option can take it as its operand.
std::string options_with_prelude(const char* options, bool keep_argument_info) {
  if (options == nullptr && keep_argument_info)
    return std::string(kernels::kPreludeOption).append(kKeepArgumentInfo);
  std::string all;
  const std::string_view own = options != nullptr ? options : "";
  const bool last = is_complete(own);
  if (last) all.append(own).append(" ");
  all.append(kernels::kPreludeOption);
  if (!last && !own.empty()) all.append(" ").append(own);
  return all;
}

std::string remove_prelude_switch(std::string text) {
  if (text == options_with_prelude(nullptr, true)) return {};
  for (std::size_t at = text.find(kernels::kPreludeOption); at != std::string::npos;
       at = text.find(kernels::kPreludeOption, at)) {
    const std::size_t behind = at + kernels::kPreludeOption.size();
    const bool blank_behind = behind < text.size() && text[behind] == ' ';
    const bool blank_before = !blank_behind && at != 0 && text[at - 1] == ' ';
    if (blank_before) --at;
    text.erase(at, kernels::kPreludeOption.size() + (blank_before || blank_behind ? 1 : 0));
  }
  return text;
}

std::string restore_quoted_lines(const std::string& log, const std::string& source) {
  std::string own;
  std::string_view rest = log;
  std::uint64_t place = 0;  // the line number of the message above
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const bool foreign = place != 0 && !line.empty() && line == line_of(kernels::prelude(), place);
    own.append(foreign ? line_of(source, place) : line);
    if (!rest.empty() || log.ends_with('\n')) own.push_back('\n');
    place = place_of(line);
  }
  return own;
}

bool has_prelude(const std::string& source) { return source.starts_with(kernels::prelude()); }

std::string remove_prelude(const std::string& source) {
  return has_prelude(source) ? source.substr(kernels::prelude().size()) : source;
}

}  // namespace cleave::interpose
