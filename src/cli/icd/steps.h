// The single changes that `cleave icd` and `cleave layer` make. Each is one atomic operation of the file system, except write_file(), whose files
// count only once their folder is renamed.
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cleave::cli {

struct IcdStep {
  std::string text;             // what it does, for display
  std::function<void()> apply;  // throws IcdError on failure
};
using IcdSteps = std::vector<IcdStep>;

// With this mode, whatever the umask.
IcdStep make_folder(const std::filesystem::path& folder, unsigned mode);
// Readable for all users, and synced to disk.
IcdStep write_file(const std::filesystem::path& file, const std::string& text);
// Fails if `to` exists.
IcdStep move(const std::filesystem::path& from, const std::filesystem::path& to);
// Replaces `to` if it exists.
IcdStep move_over(const std::filesystem::path& from, const std::filesystem::path& to);
IcdStep remove_file(const std::filesystem::path& file);
IcdStep remove_folder(const std::filesystem::path& folder);
IcdStep set_time(const std::filesystem::path& folder, const std::timespec& time);

// Prints what they would do. `needs_root`: and that they need root's rights.
void show(const IcdSteps& steps, bool needs_root);
// Carries them out and prints each.
void apply(const IcdSteps& steps);

}  // namespace cleave::cli
