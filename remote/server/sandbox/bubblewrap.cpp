#include "remote/server/sandbox/bubblewrap.h"

#include <algorithm>
#include <initializer_list>

namespace cleave::remote::server {
namespace {

// Drivers keep little in it; what is there counts as memory, besides the temporary files.
constexpr std::uint64_t kMaxSharedMemory = std::uint64_t{64} << 20U;
// Of folders that are empty but for what is bound into them.
constexpr std::uint64_t kEmptyFolder = std::uint64_t{1} << 20U;

class WordList {
 public:
  explicit WordList(std::string first) { list_.push_back(std::move(first)); }

  void add(std::initializer_list<std::string> words) { list_.insert(list_.end(), words); }
  void add_memory_folder(const std::string& folder, std::uint64_t size) {
    add({"--size", std::to_string(size), "--tmpfs", folder});
  }
  void add_each(const char* option, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) add({option, path, path});
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

}  // namespace

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// The worker is process 1 of its namespace: when it ends, the kernel ends all that it has forked, and only then does the
// process that the supervisor waits for. Later mounts hide earlier ones, so the order is part of the meaning; folders become
// read-only once all is in them.
std::vector<std::string> bubblewrap_command(const SandboxView& view,
                                            const std::vector<std::string>& command) {
  WordList arguments(view.bwrap);
  arguments.add({"--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session", "--ro-bind", "/", "/",
                 "--proc", "/proc", "--dev", "/dev"});
  arguments.add_each("--dev-bind-try", view.devices);
  arguments.add_memory_folder("/dev/shm", std::min(view.disk, kMaxSharedMemory));
  arguments.add_memory_folder(kTemporaryInside, view.disk);
  for (const std::string& folder : view.hidden) arguments.add_memory_folder(folder, kEmptyFolder);
  arguments.add_each("--ro-bind-try", view.readable);
  for (const std::string& file : view.masked) arguments.add({"--ro-bind", "/dev/null", file});
  for (const std::string& folder : view.emptied) arguments.add_memory_folder(folder, kEmptyFolder);
  if (!view.cache_seed.empty()) arguments.add({"--ro-bind", view.cache_seed, kSeedInside});
  arguments.add({"--dir", kHomeInside, "--dir", kCacheInside});
  arguments.add({"--symlink", "/proc/self/fd/" + std::to_string(kProgramDescriptor), kProgramInside});
  for (const auto* folders : {&view.hidden, &view.emptied}) {
    for (const std::string& folder : *folders) arguments.add({"--remount-ro", folder});
  }
  arguments.add({"--remount-ro", "/dev", "--chdir", "/", "--"});
  for (const std::string& word : command) arguments.add({word});
  return arguments.take();
}

}  // namespace cleave::remote::server
