#include "observe/trace_origin.h"

#include <array>
#include <sstream>
#include <unistd.h>

#include "base/files/regular_file.h"
#include "base/text/json.h"

namespace cleave::observe {
namespace {

std::string link_at(const char* path) {
  std::array<char, 128> text{};
  const ssize_t size = ::readlink(path, text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string first_line(const char* path) {
  constexpr std::size_t kMaxText = 4096;
  const std::string text = base::read_regular_file(path, kMaxText).text.value_or("");
  return text.substr(0, text.find('\n'));
}

// When the process began, in ticks since the start of the system: the 22nd field, the 20th behind the name.
std::string start_time() {
  const std::string line = first_line("/proc/self/stat");
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  return fields ? field : std::string();
}

}  // namespace

std::string origin_of_this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return base::JsonObject()
      .add("clock", "CLOCK_MONOTONIC")
      .add("boot", first_line("/proc/sys/kernel/random/boot_id"))
      .add("time_namespace", link_at("/proc/self/ns/time"))
      .add("host", host.data())
      .add("process", link_at("/proc/self/ns/pid") + " " + std::to_string(getpid()) + " " + start_time())
      .text();
}

}  // namespace cleave::observe
