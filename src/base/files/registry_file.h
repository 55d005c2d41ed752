// Files in the registry's folder that the processes on a device share: opening them, the locks on their bytes, and reading and
// writing at a place. Their users define the content (turns/shared_file.h, limits/memory_ledger.h, neighbours/registry_entry.h).
//
// Locks are those of the open file description (F_OFD_SETLK): the kernel releases them when the last descriptor of it is closed,
// at the latest with the process. Thread-safe. Errors are in errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cleave::base {

// `kind`-HASH, of the device's identity, which must be the same text in every process, and of the file's version.
std::string registry_file_name(const char* kind, const std::string& identity, std::uint32_t version);

// A random number by which a process tells its entry from others; never 0.
std::uint64_t registry_nonce();

// A descriptor of the registry's folder, or -1. `make_registry_folder` makes it for all users if it does not exist.
void make_registry_folder(const std::string& folder);
int open_registry_folder(const std::string& folder);  // not by a symbolic link

// A descriptor of the file in that folder, for reading and writing; -1 on failure. The second creates the file if it
// does not exist, writable for the users who may write to the folder.
int open_registry_file(int folder, const std::string& name);
int open_or_create_registry_file(int folder, const std::string& name);

// The files of this kind in that folder that readers open, sorted: at most kMostFilesOfOwner of each owner, so that
// no user hides others' files behind his own, or wastes readers' time. Throws only if out of memory.
inline constexpr std::size_t kMostFilesOfOwner = 64;  // eight GPUs in seven parts each are 56
std::vector<std::string> registry_files(int folder, const char* kind);

// False at once, with EAGAIN or EACCES, if another process has the byte locked.
bool try_lock_byte(int fd, off_t offset);
// Waits with short sleeps, since a blocking lock has no time-out, and subtracts them from `patience_ns`. EAGAIN: it was
// locked for all of that. A sleep that takes longer than requested, on a busy machine, counts at most twice the request: the lock's
// holder, too, waits for a processor.
bool lock_byte(int fd, off_t offset, std::int64_t& patience_ns);
void unlock_bytes(int fd, off_t offset, off_t count = 1);
// Whether another process has the byte locked so that `type` is not available. If the system cannot say, it counts as locked.
bool is_byte_locked(int fd, short type, off_t offset);

// As much of `size` bytes as the file has; the rest is zero.
bool read_at(int fd, void* to, std::size_t size, std::size_t offset);
bool write_at(int fd, const void* from, std::size_t size, std::size_t offset);

// Whether a file may be so long: with a smaller limit (RLIMIT_FSIZE), writing would raise SIGXFSZ in the program.
bool may_write_up_to(std::size_t size);

}  // namespace cleave::base
