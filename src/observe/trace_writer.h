// The file of a trace: a JSON array of events (observe/trace_events.h) that grows while the process runs.
//
// What holds:
//   - after every write the file is valid JSON: the closing bracket is written each time and overwritten by
//   what
//     comes next. A process that is killed leaves a valid file, without the events of its last moments: those
//     that were gathered since the last write, 64 KiB or a quarter of a second of them at most, or since the
//     last flush();
//   - a file belongs to one process at a time. Who finds it in use by another, or is a forked child, writes
//   to
//     FILE.PID instead, unless the path has a "%p" in it, which stands for the process id;
//   - nothing is opened before the first event;
//   - whatever goes wrong, one line on standard error says so, and the trace is over. So it is at its
//   greatest
//     length.
//
// Thread-safe. Everything happens under one lock, within which nothing is called but the system. errno is
// left as it was. Nothing throws.
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

  // `path` is what CLEAVE_TRACE says; `labels` describes the process in a few words. `clock` must outlive
  // this.
  TraceWriter(std::string path, std::string labels, base::Clock& clock, std::uint64_t max_bytes = kMaxBytes);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  // Takes the events over; `thread` is named in the file if it is new there.
  void add(const TraceEvents& events, Track thread) noexcept;

  // Writes what is gathered, before something that may last or never end.
  void flush() noexcept;

  // The process exits. What comes later is written at once.
  void end() noexcept;

  // For fork(): no other thread is inside between the first and one of the others. The child's trace is
  // another.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() noexcept;

 private:
  enum class State : std::uint8_t { waiting, open, over };

  // All with the lock.
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
  dev_t device_ = 0;  // with the next: which file `file_` is, lest the program has put another in its place
  ino_t number_ = 0;
  std::string name_;           // of the file that is written
  std::string buffer_;         // gathered and not yet written
  std::uint64_t written_ = 0;  // bytes in the file, the closing bracket left out
  std::uint64_t max_bytes_;
  base::Nanoseconds last_write_{0};
  std::set<Track> threads_;  // that have a name in the file
};

}  // namespace cleave::observe
