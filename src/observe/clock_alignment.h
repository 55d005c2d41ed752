// How far another host's clock is ahead, from exchanges of messages with it.
//
// The server stamps a message between the client's sending it (sent) and receiving the answer (received). Whatever the two directions
// took, the server's clock was then ahead of the client's by no less than server - received and no more than server - sent:
// half the round trip to either side, however unequal the directions. Two clocks drift apart slowly, by at most kMaxDrift, so each
// such interval holds for other times as well if it is widened by the drift until then. All of these hold at once: their intersection
// is an interval around the true value, determined by the quick exchanges; slow ones do no harm.
//
// The true value within that interval is estimated: over ten seconds drift is nearly constant, so the best estimate is the
// straight line that keeps the largest distance to all bounds within that time, or the middle if there is no such line.
// The stated error is the distance to the farther end of the interval, so it holds whatever the estimate is.
//
// Sources: K. Marzullo, S. Owicki, "Maintaining the time in a distributed system", 1983 (the intersection of intervals); A. Duda
// and others, "Estimating global time in distributed systems", 1987 (the line between the bounds).
//
// Not thread-safe; constant once it is made. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cleave::observe {

// Times in ns, of the client's clock, except `server`.
struct ClockExchange {
  std::int64_t sent = 0;
  std::int64_t server = 0;
  std::int64_t received = 0;
};

class ClockAlignment {
 public:
  // By how much the rates of two hosts' clocks may differ, in ns per ms (200 ppm): quartzes are within 100
  // ppm of each other, and a time daemon that has settled corrects them by less than that.
  static constexpr std::int64_t kMaxDrift = 200;

  // That a time of one clock is `ahead` + that time on the other, give or take `error`.
  struct Estimate {
    std::int64_t ahead = 0;
    std::int64_t error = 0;
  };

  // The client's clock relative to the server's: to convert times of the server. Empty: there are no exchanges, or they
  // contradict each other, which those of two such clocks cannot.
  static std::optional<ClockAlignment> of_client(const std::vector<ClockExchange>& exchanges);
  // The server's relative to the client's: to convert times of the client.
  static std::optional<ClockAlignment> of_server(const std::vector<ClockExchange>& exchanges);

  [[nodiscard]] Estimate at(std::int64_t time) const;
  // The largest error from `begin` to `end`.
  [[nodiscard]] std::int64_t worst_error(std::int64_t begin, std::int64_t end) const;

 private:
  // At that time the other clock is ahead by `least` to `most`.
  struct Bounds {
    std::int64_t time;
    std::int64_t least;
    std::int64_t most;
  };
  // The line of the estimate at the middle of its ten seconds.
  struct Line {
    std::int64_t time;
    std::int64_t ahead;
    double rate;
  };
  static std::optional<ClockAlignment> of(std::vector<Bounds> bounds);
  void add_lines();
  [[nodiscard]] std::optional<std::int64_t> on_lines(std::int64_t time) const;

  std::vector<Bounds> bounds_;  // by time, each narrowed by all others
  std::vector<Line> lines_;     // by time; empty: there is none somewhere
};

}  // namespace cleave::observe
