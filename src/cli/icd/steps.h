// The single changes that `cleave icd` makes. Each is one call that the file system carries out wholly or not
// at all, but for write(), whose files count only once their folder has its name.
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cleave::cli {

struct IcdStep {
  std::string text;            // for people: what it does
  std::function<void()> take;  // throws IcdError where it cannot be done
};
using IcdSteps = std::vector<IcdStep>;

// With that mode, whatever the umask.
IcdStep make_folder(const std::filesystem::path& folder, unsigned mode);
// Readable for everybody, and on the disk when it is done.
IcdStep write_file(const std::filesystem::path& file, const std::string& text);
// Fails where `to` is there already.
IcdStep move(const std::filesystem::path& from, const std::filesystem::path& to);
// In place of a file that may be there.
IcdStep move_over(const std::filesystem::path& from, const std::filesystem::path& to);
IcdStep remove_file(const std::filesystem::path& file);
IcdStep remove_folder(const std::filesystem::path& folder);
IcdStep set_time(const std::filesystem::path& folder, const std::timespec& time);

}  // namespace cleave::cli
