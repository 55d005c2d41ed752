// A folder of small text files ("entries") that processes share, for results that can be learnt again. Best effort: what
// cannot be written is not kept. What is read is what a process of this user once wrote under that name: an entry that is
// damaged, another user's, or writable by others is as if there were none. Nothing in a folder of another user, or one that
// others may write to, is read or written.
//
// The folder is bounded: where there are too many entries, or they are too large together, those that were not used for
// longest are removed.
//
// Thread-safe, and safe with other processes: an entry is replaced atomically.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace cleave::interpose {

struct EntryLimits {
  std::size_t entries = 2048;
  std::size_t bytes = std::size_t{16} << 20U;        // of all entries
  std::size_t entry_bytes = std::size_t{64} << 10U;  // of one
};

class EntryFolder {
 public:
  // `path` is created, with its two parents, by the first write(). Empty: nothing is kept.
  explicit EntryFolder(std::string path, EntryLimits limits = {}) : path_(std::move(path)), limits_(limits) {}

  // `name` is a file name that does not begin with a dot. May throw std::bad_alloc.
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const;
  void write(const std::string& name, const std::string& text);

  // Whether there is an entry whose name begins like this, readable or not.
  [[nodiscard]] bool has_prefix(const std::string& prefix) const;

 private:
  void remove_oldest(int folder) const;

  const std::string path_;
  const EntryLimits limits_;
};

}  // namespace cleave::interpose
