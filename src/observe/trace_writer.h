// Writes the trace file: a JSON array of events (observe/trace_events.h) that grows while the process runs.
//
//   - The file is valid JSON after every write: the closing bracket is written each time and overwritten by the next
//     events. A process that is killed leaves a valid file without the events since its last write: at most 64 KiB or
//     a quarter of a second, and none from before the last flush().
//   - A file belongs to one process at a time. A process that finds it in use, and a forked child, write to FILE.PID
//     instead, unless the path contains "%p", which stands for the process id.
//   - Nothing is opened before the first event. A path /proc/self/fd/N of an empty file that is open for writing means that
//     descriptor, since the process may not be permitted to reopen the file.
//   - It begins with what `cleave trace merge` needs: whose the clock and the process are (trace_origin.h).
//   - On any error one line is printed to standard error and the trace ends. It also ends when the file reaches its
//     maximum size.
//
// Thread-safe: one lock, under which only the system is called. Preserves errno. Nothing throws.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/files/verified_descriptor.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "observe/trace_events.h"

namespace cleave::observe {

class TraceWriter {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

  // `path`: the value of CLEAVE_TRACE. `labels`: a short description of the process. `clock` must outlive this. `order`: of the
  // lock, where a library does not keep to the interposer's.
  TraceWriter(std::string path, std::string labels, base::ForkLocks& forks, base::Clock& clock,
              std::uint64_t max_bytes = kMaxBytes, base::ForkOrder order = base::ForkOrder::trace_file);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  // Adds events; `thread` is named in the file if it is new there, and no row of our own.
  void add(const TraceEvents& events, Track thread) noexcept;

  // Writes what is buffered, before a call that may take long or never return.
  void flush() noexcept;

  // The process exits. Later events are written at once. `without_events`: the file is written even if it has none.
  void end(bool without_events = false) noexcept;

 private:
  enum class State : std::uint8_t { waiting, open, over };

  // The child of a fork writes a trace of its own.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  void open() noexcept CLEAVE_REQUIRES(mutex_);
  bool try_open(const std::string& path) CLEAVE_REQUIRES(mutex_);
  void begin() CLEAVE_REQUIRES(mutex_);
  void append(const std::string& text) CLEAVE_REQUIRES(mutex_);
  void name_thread(Track thread) CLEAVE_REQUIRES(mutex_);
  void write() noexcept CLEAVE_REQUIRES(mutex_);
  bool write_bytes(const std::string& text) const CLEAVE_REQUIRES(mutex_);
  void fail(const char* what) noexcept CLEAVE_REQUIRES(mutex_);

  const std::string path_;
  const std::string labels_;
  base::Clock& clock_;
  base::Mutex mutex_;
  State state_ CLEAVE_GUARDED_BY(mutex_) = State::waiting;
  bool forked_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool ended_ CLEAVE_GUARDED_BY(mutex_) = false;
  base::VerifiedDescriptor file_ CLEAVE_GUARDED_BY(mutex_);
  bool regular_ CLEAVE_GUARDED_BY(mutex_) = true;
  std::string name_ CLEAVE_GUARDED_BY(mutex_);           // of the file in use
  std::string buffer_ CLEAVE_GUARDED_BY(mutex_);         // not yet written
  std::uint64_t written_ CLEAVE_GUARDED_BY(mutex_) = 0;  // bytes in the file without the closing bracket
  std::uint64_t max_bytes_;
  base::Nanoseconds last_write_ CLEAVE_GUARDED_BY(mutex_){0};
  std::set<Track> threads_ CLEAVE_GUARDED_BY(mutex_);  // already named in the file
};

}  // namespace cleave::observe
