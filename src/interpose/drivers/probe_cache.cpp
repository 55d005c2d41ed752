#include "interpose/drivers/probe_cache.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <sstream>

#include "interpose/drivers/known_drivers.h"
#include "interpose/state/cache_folder.h"
#include "kernels/prelude/prelude.h"

namespace cleave::interpose {
namespace {

// One line per driver: the version of this format, a hash of the driver's name, and the result.
constexpr const char* kDriversFormat = "2";
constexpr const char* kDriversFile = "drivers";
constexpr std::size_t kMaxDriversFileSize = std::size_t{1} << 20U;

std::string line_for(const std::string& key, const ProbeResult& facts) {
  std::string line = std::string(kDriversFormat) + " " + key;
  for (const bool fact : {facts.carries_tags, facts.carries_volume_tags, facts.truncates_offsets})
    line += fact ? " 1" : " 0";
  return line;
}

std::optional<ProbeResult> read_facts(const std::string& folder, const std::string& key) {
  std::istringstream file(read_file(folder, kDriversFile, kMaxDriversFileSize));
  // Damaged lines match nothing and are skipped.
  for (std::string line; std::getline(file, line);) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      const ProbeResult facts{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      if (line == line_for(key, facts)) return facts;
    }
  }
  return std::nullopt;
}

void keep_facts(const std::string& folder, const std::string& key, const ProbeResult& facts) {
  append_line(folder, kDriversFile, line_for(key, facts) + "\n");
}

// Reduces the number at `at` by `shift` if it is a line after the prelude.
void subtract_lines(std::string& log, std::size_t at, unsigned shift) {
  unsigned line = 0;
  const char* const begin = log.data() + at;
  const auto [end, error] = std::from_chars(begin, log.data() + log.size(), line);
  if (error == std::errc{} && line > shift) {
    log.replace(at, static_cast<std::size_t>(end - begin), std::to_string(line - shift));
  }
}

}  // namespace

ProbeCache::ProbeCache(base::ForkLocks& forks, const Table& next, base::Clock& clock, Devices& devices,
                       std::string folder)
    : next_(next), clock_(clock), devices_(devices), folder_(std::move(folder)) {
  forks.add(base::ForkOrder::probe_cache, mutex_);
}

std::optional<ProbeResult> ProbeCache::look_up(cl_device_id device) {
  const base::MutexLock lock(mutex_);
  const auto found = results_.find(device);
  return found != results_.end() ? std::optional(found->second) : std::nullopt;
}

bool ProbeCache::begin(cl_device_id device) {
  const base::MutexLock lock(mutex_);
  return in_flight_.insert(device).second;
}

void ProbeCache::end(cl_device_id device, const std::optional<ProbeResult>& found) {
  const base::MutexLock lock(mutex_);
  in_flight_.erase(device);
  if (found) results_[device] = *found;
}

std::optional<ProbeResult> ProbeCache::known(cl_device_id device) noexcept try {
  return look_up(devices_.of(device)->root);
} catch (...) {
  return std::nullopt;
}

std::optional<ProbeResult> ProbeCache::kept_or_probed(cl_device_id device) {
  const std::string driver = folder_.empty() ? "" : devices_.of(device)->driver;
  const std::string key = folder_.empty() ? "" : key_of(std::as_bytes(std::span(driver)));
  if (!key.empty()) {
    if (const auto kept = read_facts(folder_, key)) return kept;
  }
  const auto found = probe_driver(next_, clock_, device);
  if (found && !key.empty()) keep_facts(folder_, key, *found);
  return found;
}

std::optional<ProbeResult> ProbeCache::facts(cl_device_id of) noexcept try {
  cl_device_id const device = devices_.of(of)->root;
  if (const auto known = look_up(device)) return known;
  if (!begin(device)) return std::nullopt;
  std::optional<ProbeResult> found;
  try {
    found = known_facts(next_, device);
    if (!found) found = kept_or_probed(device);
  } catch (...) {  // out of memory: unknown
  }
  end(device, found);
  return found;
} catch (...) {
  return std::nullopt;
}

// Whether a number in the log could be a line after the prelude.
bool ProbeCache::may_need_line_shift(const std::string& log) {
  const std::string_view prelude = kernels::prelude();
  const auto shift = static_cast<unsigned>(std::count(prelude.begin(), prelude.end(), '\n'));
  for (std::size_t at = log.find(':'); at != std::string::npos; at = log.find(':', at + 1)) {
    unsigned number = 0;
    std::from_chars(log.data() + at + 1, log.data() + log.size(), number);
    if (number > shift) return true;
  }
  return false;
}

std::string ProbeCache::restore_line_numbers(std::string log, cl_device_id of) {
  if (!may_need_line_shift(log)) return log;
  cl_device_id const device = devices_.of(of)->root;
  std::optional<LogLines> known;
  {
    const base::MutexLock lock(mutex_);
    const auto found = lines_.find(device);
    if (found != lines_.end()) known = found->second;
  }
  const bool is_new = !known;
  if (is_new) known = known_log_lines(next_, device);
  const LogLines lines = known ? *known : find_log_lines(next_, device);
  if (is_new) {
    const base::MutexLock lock(mutex_);
    lines_[device] = lines;
  }
  if (lines.shift == 0) return log;
  const std::string mark = lines.place + ":";
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, at + mark.size())) {
    subtract_lines(log, at + mark.size(), lines.shift);
  }
  return log;
}

}  // namespace cleave::interpose
