#include "interpose/drivers.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::interpose {
namespace {

// One line for each driver: the version of this format, a hash of the driver's name, and the facts.
constexpr const char* kFormat = "1";

std::string key_of(const std::string& driver) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : driver) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::to_string(hash);
}

std::optional<DriverFacts> read_facts(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string format;
  std::string known;
  bool tags = false;
  bool narrow = false;
  while (file >> format >> known >> tags >> narrow) {
    if (format == kFormat && known == key) return DriverFacts{tags, narrow};
  }
  return std::nullopt;
}

// Best effort: where it cannot be written, the next process finds out for itself. One write is one line.
void keep_facts(const std::string& folder, const std::string& path, const std::string& key,
                const DriverFacts& facts) {
  mkdir(folder.substr(0, folder.find_last_of('/')).c_str(), 0700);
  mkdir(folder.c_str(), 0700);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const std::string line =
      std::string(kFormat) + " " + key + (facts.tags ? " 1" : " 0") + (facts.narrow ? " 1\n" : " 0\n");
  if (write(file, line.data(), line.size()) < 0) {  // nothing that could be done about it
  }
  close(file);
}

// The number at `at` less `shift`, if it is one behind the prelude.
void put_back(std::string& log, std::size_t at, unsigned shift) {
  unsigned line = 0;
  const char* const begin = log.data() + at;
  const auto [end, error] = std::from_chars(begin, log.data() + log.size(), line);
  if (error == std::errc{} && line > shift) {
    log.replace(at, static_cast<std::size_t>(end - begin), std::to_string(line - shift));
  }
}

}  // namespace

Drivers::Drivers(const Table& next, base::Clock& clock, std::string folder)
    : next_(next), clock_(clock), folder_(std::move(folder)) {}

std::optional<DriverFacts> Drivers::look_up(cl_device_id device) {
  const auto found = facts_.find(device);
  if (found != facts_.end()) return found->second;
  if (folder_.empty()) return std::nullopt;
  const auto kept = read_facts(file(), key_of(name_driver(next_, device)));
  if (kept) facts_[device] = *kept;
  return kept;
}

std::optional<DriverFacts> Drivers::known(cl_device_id device) noexcept try {
  const std::scoped_lock lock(mutex_);
  return look_up(device);
} catch (...) {
  return std::nullopt;
}

DriverFacts Drivers::facts(cl_device_id device) noexcept try {
  const std::scoped_lock lock(mutex_);
  if (const auto known = look_up(device)) return *known;
  const auto found = try_driver(next_, clock_, device);
  facts_[device] = found.value_or(DriverFacts{});
  if (found && !folder_.empty()) keep_facts(folder_, file(), key_of(name_driver(next_, device)), *found);
  return facts_[device];
} catch (...) {
  return {};
}

std::string Drivers::without_prelude(std::string log, cl_context context, cl_device_id device) {
  LogLines lines;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = lines_.find(device);
    if (found == lines_.end()) lines_[device] = find_log_lines(next_, context, device);
    lines = lines_[device];
  }
  if (lines.shift == 0) return log;
  const std::string mark = lines.place + ":";
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, at + mark.size())) {
    put_back(log, at + mark.size(), lines.shift);
  }
  return log;
}

}  // namespace cleave::interpose
