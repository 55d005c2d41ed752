#include "remote/client/objects/svm_blocks.h"

#include <algorithm>
#include <iterator>
#include <unistd.h>

#include <sys/mman.h>

namespace cleave::remote::client {
namespace {

// Drivers allocate nothing below this address, and the first page must never be mapped.
constexpr std::uintptr_t kLowest = std::uintptr_t{64} << 10U;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// The pages of these bytes. Returns false if they are not valid addresses.
bool pages_of(std::uintptr_t address, std::size_t size, std::uintptr_t& begin, std::uintptr_t& end) {
  const std::uintptr_t page = page_size();
  std::uintptr_t last = 0;
  if (address < kLowest || size == 0 || __builtin_add_overflow(address, size - 1, &last) ||
      last > UINTPTR_MAX - 2 * page)
    return false;
  begin = address / page * page;
  end = (last / page + 1) * page;
  return true;
}

bool map_pages(std::uintptr_t begin, std::uintptr_t end) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is what the server's address is
  void* const wanted = reinterpret_cast<void*>(begin);
  void* const got = mmap(wanted, end - begin, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  // Older Linux kernels ignore MAP_FIXED_NOREPLACE and treat the address as a hint.
  if (got != MAP_FAILED) munmap(got, end - begin);
  return false;
}

void unmap_pages(std::uintptr_t begin, std::uintptr_t end) {
  munmap(reinterpret_cast<void*>(begin), end - begin);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

// Splits the run around `at`, if there is one.
void Pages::cut(std::uintptr_t at) {
  auto run = runs_.upper_bound(at);
  if (run == runs_.begin()) return;
  --run;
  if (run->first == at || run->second.end <= at) return;
  runs_.insert({at, run->second});
  run->second.end = at;
}

// Maps the gaps between runs, as runs that have no users yet.
bool Pages::fill(std::uintptr_t begin, std::uintptr_t end) {
  for (std::uintptr_t at = begin; at < end;) {
    const auto next = runs_.lower_bound(at);
    if (next != runs_.end() && next->first == at) {
      at = next->second.end;
      continue;
    }
    const std::uintptr_t until = next == runs_.end() ? end : std::min(end, next->first);
    if (!map_pages(at, until)) return false;
    runs_.insert({at, {until, 0}});
    at = until;
  }
  return true;
}

bool Pages::add(std::uintptr_t address, std::size_t size) {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!pages_of(address, size, begin, end)) return false;
  cut(begin);
  cut(end);
  const bool there = fill(begin, end);
  for (auto run = runs_.lower_bound(begin); run != runs_.end() && run->first < end; ++run) ++run->second.uses;
  // Unmaps what was mapped just now.
  if (!there) drop(address, size);
  return there;
}

void Pages::drop(std::uintptr_t address, std::size_t size) {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!pages_of(address, size, begin, end)) return;
  cut(begin);
  cut(end);
  for (auto run = runs_.lower_bound(begin); run != runs_.end() && run->first < end;) {
    if (--run->second.uses != 0) {
      ++run;
      continue;
    }
    unmap_pages(run->first, run->second.end);
    run = runs_.erase(run);
  }
}

bool SvmBlocks::add(const SvmBlock& block) {
  const base::MutexLock lock(mutex_);
  // Another server's block may be there.
  const auto after = blocks_.lower_bound(block.address);
  if (after != blocks_.end() && after->first - block.address < block.size) return false;
  if (after != blocks_.begin()) {
    const SvmBlock& before = std::prev(after)->second;
    if (block.address - before.address < before.size) return false;
  }
  if (!pages_.add(block.address, block.size)) return false;
  blocks_.insert({block.address, block});
  return true;
}

std::optional<SvmBlock> SvmBlocks::remove(const void* pointer, const Connection& connection) {
  const base::MutexLock lock(mutex_);
  const auto found = blocks_.find(number(pointer));
  if (found == blocks_.end() || found->second.connection != &connection) return std::nullopt;
  const SvmBlock block = found->second;
  blocks_.erase(found);
  mapped_.erase(mapped_.lower_bound(block.address), mapped_.lower_bound(block.address + block.size));
  return block;
}

void SvmBlocks::release_pages(const SvmBlock& block) {
  const base::MutexLock lock(mutex_);
  pages_.drop(block.address, block.size);
}

std::optional<SvmBlock> SvmBlocks::find_locked(std::uintptr_t address, std::size_t size) const {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return std::nullopt;
  --found;
  const std::size_t offset = address - found->first;
  const bool inside = offset <= found->second.size && size <= found->second.size - offset;
  return inside ? std::optional(found->second) : std::nullopt;
}

std::optional<SvmBlock> SvmBlocks::find(const void* pointer, std::size_t size) const {
  const base::MutexLock lock(mutex_);
  return find_locked(number(pointer), size);
}

bool SvmBlocks::holds(const void* pointer, std::size_t size, const Connection& connection) const {
  const auto block = find(pointer, size);
  return block && block->connection == &connection;
}

void SvmBlocks::map(const void* pointer, Mapped mapped) {
  const base::MutexLock lock(mutex_);
  mapped_.insert({number(pointer), mapped});
}

std::optional<SvmBlocks::Mapped> SvmBlocks::unmap(const void* pointer) {
  const base::MutexLock lock(mutex_);
  const auto found = mapped_.find(number(pointer));
  if (found == mapped_.end()) return std::nullopt;
  const Mapped mapped = found->second;
  mapped_.erase(found);
  return mapped;
}

}  // namespace cleave::remote::client
