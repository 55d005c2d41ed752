#include "slurm/usage.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files/regular_file.h"
#include "turns/accounts.h"

namespace cleave::slurm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostText = 1'048'576;

std::uint64_t peak_in(std::string_view text) {
  constexpr std::string_view kKey = "\"peak_bytes\":";
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  std::uint64_t largest = 0;
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    std::uint64_t number = 0;
    for (at += kKey.size(); at < text.size() && text[at] == ' '; ++at) {
    }
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && number < kMost; ++at) {
      number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    if (number < kMost) largest = std::max(largest, number);
  }
  return largest;
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03llus", static_cast<unsigned long long>(ns / 1'000'000'000),
                static_cast<unsigned long long>(ns / 1'000'000 % 1000));
  return text;
}

}  // namespace

Usage usage_of(const std::string& registry, const std::string& job) {
  Usage usage;
  for (const turns::TenantReport& each : turns::take_tenants(registry, "slurm-" + job + ".")) {
    usage.device += each.used;
    usage.waited += static_cast<std::uint64_t>(std::max<turns::Ns>(each.waited, 0));
    usage.processes += each.processes;
  }
  return usage;
}

std::uint64_t largest_peak(const std::string& folder) {
  std::uint64_t largest = 0;
  std::size_t files = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() != ".json" || entry->is_symlink(error) || ++files > kMostFiles) continue;
    largest = std::max(largest, peak_in(base::read_regular_file(entry->path(), kMostText).text.value_or("")));
  }
  return largest;
}

std::string text_of(const Usage& usage, const std::string& node) {
  std::string text = "cleave " + node + " device=" + seconds(usage.device) +
                     " waited=" + seconds(usage.waited) + " processes=" + std::to_string(usage.processes);
  if (usage.memory != 0) text += " memory=" + std::to_string((usage.memory + 1023) / 1024) + "k";
  // As it comes back: sacctmgr 22.05 makes all letters small.
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::string with_part(const std::string& comment, const std::string& part) {
  // "cleave NODE "
  const std::string head = part.substr(0, part.find(' ', part.find(' ') + 1) + 1);
  std::string result;
  bool is_there = false;
  for (std::size_t at = 0; at < comment.size();) {
    const std::size_t end = std::min(comment.find("; ", at), comment.size());
    const std::string each = comment.substr(at, end - at);
    const bool is_of_node = each.starts_with(head);
    is_there = is_there || is_of_node;
    result += (result.empty() ? "" : "; ") + (is_of_node ? part : each);
    at = end + 2;
  }
  if (is_there) return result;
  return result.empty() ? part : result + "; " + part;
}

}  // namespace cleave::slurm
