#include "interpose/programs/known_binaries.h"

#include "interpose/programs/rules_version.h"

namespace cleave::interpose {
namespace {

constexpr const char* kFolder = "/known-binaries";

// How many binaries' scans are kept in memory. For older ones it is only known that they come from Cleave.
constexpr std::size_t kMaxInMemory = 4096;

// A file can keep the program's result where there is no room for those of its kernels.
constexpr std::size_t kMaxText = std::size_t{60} << 10U;

std::string text_for_file(const BinaryFacts& facts) {
  std::string text = to_text(facts);
  if (text.size() <= kMaxText || !facts.scans) return text;
  BinaryFacts shorter = facts;
  shorter.scans = std::make_shared<const BinaryFacts::Scans>(BinaryFacts::Scans{facts.scans->whole, {}});
  return to_text(shorter);
}

}  // namespace

KnownBinaries::KnownBinaries(base::ForkLocks& forks, const std::string& cache)
    : folder_(cache.empty() ? "" : cache + kFolder) {
  forks.add(base::ForkOrder::known_binaries, mutex_);
}

std::string KnownBinaries::Key::file_name() const { return to_text(binary) + "-" + to_text(version); }

KnownBinaries::Key KnownBinaries::key_of(Binary binary, const std::string& driver) {
  const std::string version = std::string(rules_version()).append("\n").append(driver);
  return {base::digest_of(binary), base::digest_of(version)};
}

std::optional<BinaryFacts> KnownBinaries::in_memory(const Key& key) {
  const base::MutexLock lock(mutex_);
  const auto found = known_.find(key);
  return found != known_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<BinaryFacts> KnownBinaries::in_folder(const Key& key) {
  const auto text = folder_.read(key.file_name());
  return text ? from_text(*text) : std::nullopt;
}

void KnownBinaries::keep(const Key& key, const BinaryFacts& facts) {
  const base::MutexLock lock(mutex_);
  BinaryFacts& kept = known_[key];
  const bool had_scans = kept.scans != nullptr;
  kept = facts;
  if (had_scans || !facts.scans) return;
  with_scans_.push_back(key);
  if (with_scans_.size() <= kMaxInMemory) return;
  known_[with_scans_.front()].scans.reset();
  with_scans_.pop_front();
}

bool KnownBinaries::has_any(const base::Digest& binary) {
  {
    const base::MutexLock lock(mutex_);
    const auto next = known_.lower_bound(Key{binary, {}});
    if (next != known_.end() && next->first.binary == binary) return true;
  }
  return folder_.has_prefix(to_text(binary));
}

void KnownBinaries::note(Binary binary, const std::string& driver, const BinaryFacts& facts) {
  const Key key = key_of(binary, driver);
  const auto here = in_memory(key);
  if (here && *here == facts) return;
  const auto there = in_folder(key);
  BinaryFacts all = here ? merge(*here, facts) : facts;
  if (there) all = merge(*there, all);
  keep(key, all);
  if (!there || !(*there == all)) folder_.write(key.file_name(), text_for_file(all));
}

std::optional<BinaryFacts> KnownBinaries::find(Binary binary, const std::string& driver) {
  const Key key = key_of(binary, driver);
  auto here = in_memory(key);
  if (here && here->scans) return here;
  if (auto there = in_folder(key)) {
    if (!here) keep(key, *there);
    return there;
  }
  if (here) return here;
  if (!has_any(key.binary)) return std::nullopt;
  BinaryFacts unknown;
  unknown.may_have_prelude = true;
  return unknown;
}

}  // namespace cleave::interpose
