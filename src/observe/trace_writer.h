// Writes the trace file: a JSON array of events (observe/trace_events.h) that grows while the process runs.
//
//   - The file is valid JSON after every write: the closing bracket is written each time and overwritten by the next
//     events. A process that is killed leaves a valid file without the events since its last write: at most 64 KiB or
//     a quarter of a second, and none from before the last flush().
//   - A file belongs to one process at a time. A process that finds it in use, and a forked child, write to FILE.PID
//     instead, unless the path contains "%p", which stands for the process id.
//   - Nothing is opened before the first event.
//   - On any error one line is printed to standard error and the trace ends. It also ends when the file reaches its
//     maximum size.
//
// Thread-safe: one lock, under which only the system is called. Preserves errno. Nothing throws.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include <sys/types.h>

#include "base/clock.h"
#include "observe/trace_events.h"

namespace cleave::observe {

class TraceWriter {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

  // `path`: the value of CLEAVE_TRACE. `labels`: a short description of the process. `clock` must outlive this.
  TraceWriter(std::string path, std::string labels, base::Clock& clock, std::uint64_t max_bytes = kMaxBytes);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  // Adds events; `thread` is named in the file if it is new there.
  void add(const TraceEvents& events, Track thread) noexcept;

  // Writes what is buffered, before a call that may take long or never return.
  void flush() noexcept;

  // The process exits. Later events are written at once.
  void end() noexcept;

  // Around fork(). The child writes a trace of its own.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() noexcept;

 private:
  enum class State : std::uint8_t { waiting, open, over };

  // All require the lock.
  void open() noexcept;
  bool try_open(const std::string& path);
  void begin();
  void append(const std::string& text);
  void name_thread(Track thread);
  void write() noexcept;
  bool write_bytes(const std::string& text) const;
  bool is_ours() const;
  void fail(const char* what) noexcept;

  const std::string path_;
  const std::string labels_;
  base::Clock& clock_;
  std::mutex mutex_;
  State state_ = State::waiting;
  bool forked_ = false;
  bool ended_ = false;
  int file_ = -1;
  bool regular_ = true;
  dev_t device_ = 0;  // with number_: identifies `file_`, in case the program reuses the descriptor
  ino_t number_ = 0;
  std::string name_;           // of the file in use
  std::string buffer_;         // not yet written
  std::uint64_t written_ = 0;  // bytes in the file without the closing bracket
  std::uint64_t max_bytes_;
  base::Nanoseconds last_write_{0};
  std::set<Track> threads_;  // already named in the file
};

}  // namespace cleave::observe
