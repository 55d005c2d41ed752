// The clocks that several trace files are of, and how times of each become times of the first file's.
//
// Files of one host have one clock. Clients and servers of two hosts have compared theirs (clock_alignment.h); over such pairs
// leads a way from each clock to the first.
//
// Not thread-safe; constant once it is made. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/clock_alignment.h"
#include "observe/trace_index.h"

namespace cleave::observe {

class TraceClocks {
 public:
  // False: one cannot be aligned; `problem` says which and why, for people.
  bool align(const std::vector<TraceIndex>& files, std::string& problem);

  [[nodiscard]] std::size_t count() const { return clocks_.size(); }
  // The number of a file's clock.
  [[nodiscard]] std::size_t of(std::size_t file) const { return clock_of_[file]; }
  [[nodiscard]] const std::string& host(std::size_t clock) const { return clocks_[clock].host; }
  // A time of the file, on the first file's clock.
  [[nodiscard]] std::int64_t convert(std::size_t file, std::int64_t time) const {
    return clocks_[clock_of_[file]].convert(time);
  }

  struct Alignment {
    std::size_t exchanges = 0;
    std::int64_t ahead = 0;  // of the first file's clock, ns, at `begin`
    std::int64_t error = 0;  // the largest from `begin` to `end`
  };
  // For times of that file. Empty: its clock is the first file's.
  [[nodiscard]] std::optional<Alignment> alignment(std::size_t file, std::int64_t begin,
                                                   std::int64_t end) const;

 private:
  struct Clock {
    std::string name;
    std::string host;
    std::vector<ClockAlignment> steps;  // one after the other
    std::size_t exchanges = 0;          // that the first step follows from
    bool known = false;

    [[nodiscard]] std::int64_t convert(std::int64_t time) const;
    [[nodiscard]] std::int64_t worst_error(std::int64_t begin, std::int64_t end) const;
  };
  void find_clocks(const std::vector<TraceIndex>& files);
  bool align_with(std::size_t known, const std::vector<TraceIndex>& files, std::string& problem);
  [[nodiscard]] std::vector<ClockExchange> exchanges(const std::vector<TraceIndex>& files, std::size_t client,
                                                     std::size_t server) const;

  std::vector<Clock> clocks_;
  std::vector<std::size_t> clock_of_;  // by file
};

}  // namespace cleave::observe
