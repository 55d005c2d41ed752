#include "base/threads/system_call_filter.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <unistd.h>

#include <sys/prctl.h>

#include "base/files/own_descriptors.h"
#include "base/files/verified_descriptor.h"
#include "base/no_destructor.h"
#include "base/text/number.h"
#include "base/threads/ignore_sigpipe.h"

namespace cleave::base {
namespace {

// From prctl(), which costs least and needs no descriptor.
constexpr int kFiltered = 2;

struct Filters {
  std::atomic<int> mode{-1};  // -1: not checked yet
  std::atomic<std::uint64_t> count{0};
  VerifiedDescriptor status;  // of the first thread; open if the mode is no answer
};
constinit NoDestructor<Filters> storage;
constinit Filters& filters = *storage;

std::optional<std::uint64_t> count_of_filters() {
  constexpr std::string_view kName = "\nSeccomp_filters:\t";
  constexpr std::size_t kMost = 4096;  // too much for a small stack
  const std::unique_ptr<char[]> bytes(new (std::nothrow) char[kMost]);
  if (!bytes || !filters.status.is_valid()) return std::nullopt;
  const ssize_t size = pread(filters.status.get(), bytes.get(), kMost, 0);
  const std::string_view text(bytes.get(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t at = text.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + kName.size());
  const auto number = parse_unsigned(rest.substr(0, rest.find('\n')), 0, 1U << 30U);
  return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

}  // namespace

void remember_system_call_filters() noexcept {
  const int error = errno;
  { const ScopedIgnoreSigpipe made_before; }  // what a line on standard error needs
  const int mode = prctl(PR_GET_SECCOMP);
  if (mode == kFiltered) {
    filters.status.open(open_own("/proc/self/status", O_RDONLY));
    filters.count = count_of_filters().value_or(0);
  }
  filters.mode = mode;
  errno = error;
}

bool has_new_system_call_filter() noexcept {
  const int error = errno;
  const int before = filters.mode;
  const int mode = before < 0 ? before : prctl(PR_GET_SECCOMP);
  // 0: not known, nor then whether there are more. So it is in a sandbox without /proc.
  const std::uint64_t count = filters.count;
  const bool is_new =
      before == kFiltered ? count != 0 && count_of_filters().value_or(count) != count : mode != before;
  errno = error;
  return is_new;
}

}  // namespace cleave::base
