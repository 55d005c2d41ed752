#include "cli/top/live/names.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <pwd.h>

#include <sys/stat.h>

namespace cleave::cli {
namespace {

constexpr std::size_t kMostOfCommand = 4096;
// What the kernel keeps of a name.
constexpr std::size_t kMostOfName = 15;

std::string start_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMostOfCommand, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

std::string clean_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string command_of(const RunningProcess& process) {
  const std::string folder = "/proc/" + std::to_string(process.pid);
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || status.st_uid != process.user) return {};
  if (clean_text(start_of_file(folder + "/comm")) != process.program.substr(0, kMostOfName) + '?') return {};
  std::string command = start_of_file(folder + "/cmdline");
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return clean_text(std::move(command));
}

}  // namespace

const std::string& NameReader::user(uid_t id) {
  const auto [at, is_new] = users_.emplace(id, std::to_string(id));
  if (!is_new) return at->second;
  std::array<char, 16384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(id, &entry, room.data(), room.size(), &found) == 0 && found != nullptr)
    at->second = clean_text(entry.pw_name);
  return at->second;
}

std::map<std::string, ProcessNames> NameReader::read(const std::vector<RunningProcess>& processes) {
  std::map<std::string, ProcessNames> names;
  for (const RunningProcess& each : processes) names[each.file] = {user(each.user), command_of(each)};
  return names;
}

}  // namespace cleave::cli
