// The command that starts a worker in its sandbox: bwrap(1), with a view of the system that shows nothing of others,
// and in which only devices and memory of its own can be written.
//
// Thread-safe: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave::remote::server {

// The descriptor by which the sandbox executes the server's program, wherever that lies, and its name there.
inline constexpr int kProgramDescriptor = 3;
inline constexpr const char* kProgramInside = "/run/cleave-serverd";

// With the path of the OpenCL loader: the program prints a line for each device, after this word.
inline constexpr const char* kListArgument = "--list-devices";
inline constexpr const char* kListedDevice = "device: ";

// What a worker has of its own, in memory.
inline constexpr const char* kTemporaryInside = "/tmp";
inline constexpr const char* kHomeInside = "/tmp/home";
inline constexpr const char* kCacheInside = "/tmp/cache";
inline constexpr const char* kRegistryInside = "/tmp/registry";
inline constexpr const char* kSeedInside = "/run/cleave-seed";

// Where other users, services and clients keep what is theirs.
inline constexpr std::array kHiddenFolders{"/home", "/root", "/run", "/var/tmp", "/mnt", "/media", "/srv"};

struct SandboxView {
  std::string bwrap;                  // its path
  std::vector<std::string> hidden;    // folders that are empty inside, besides /tmp
  std::vector<std::string> readable;  // files and folders below these that are visible all the same
  std::vector<std::string> masked;    // files in visible folders that are not
  std::vector<std::string> devices;
  std::string cache_seed;                 // empty: none
  std::uint64_t disk = 0;                 // bytes for kTemporaryInside
  std::vector<std::string> emptied = {};  // folders in visible folders that are empty inside
};

// The arguments, bwrap's path first, of a process that runs `command` inside.
std::vector<std::string> bubblewrap_command(const SandboxView& view, const std::vector<std::string>& command);

// Whether the path is the folder, or lies below it. Both are absolute and without dots.
bool is_below(const std::string& path, const std::string& folder);

}  // namespace cleave::remote::server
