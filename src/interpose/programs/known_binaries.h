// Remembers what is known of the binaries that programs got from Cleave's builds, so that it is known again when this or
// another process makes a program from one of them: which of its kernels may be split, and whether the prelude is in it.
//
// A binary is recognized by a digest of its bytes. What is known counts for one device and driver version, one text of the
// prelude and one set of rules for scanning programs; for others it only says that the binary came from Cleave, and may have
// the prelude in it.
//
// Thread-safe. With a folder, each query reads a file there, and each new binary writes one.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "base/text/digest.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/programs/binary_facts.h"
#include "interpose/state/entry_folder.h"

namespace cleave::interpose {

using Binary = std::span<const std::byte>;

class KnownBinaries {
 public:
  // `cache` is the cache folder, which keeps them between processes; empty: none does.
  KnownBinaries(base::ForkLocks& forks, const std::string& cache);

  // The program has got this binary. `driver` is what the facts depend on besides the binary: the texts of name_driver(). What
  // was noted before, of a driver that gives two builds the same bytes, is merged with it. May throw std::bad_alloc.
  void note(Binary binary, const std::string& driver, const BinaryFacts& facts);

  // Empty: the binary does not come from Cleave, or has been forgotten. Without `scans`: it does, but nothing else is
  // known. May throw std::bad_alloc.
  std::optional<BinaryFacts> find(Binary binary, const std::string& driver);

 private:
  struct Key {
    base::Digest binary;
    base::Digest version;

    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.binary, a.version) < std::tie(b.binary, b.version);
    }
    [[nodiscard]] std::string file_name() const;
  };
  static Key key_of(Binary binary, const std::string& driver);

  std::optional<BinaryFacts> in_memory(const Key& key);
  std::optional<BinaryFacts> in_folder(const Key& key);
  void keep(const Key& key, const BinaryFacts& facts);
  // Whether it was noted for any driver and rules.
  bool has_any(const base::Digest& binary);

  EntryFolder folder_;
  base::Mutex mutex_;  // never held while a file is read or written
  std::map<Key, BinaryFacts> known_ CLEAVE_GUARDED_BY(mutex_);
  std::deque<Key> with_scans_ CLEAVE_GUARDED_BY(mutex_);  // in the order in which they were noted
};

}  // namespace cleave::interpose
