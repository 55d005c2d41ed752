#include "observe/trace_clocks.h"

#include <algorithm>

namespace cleave::observe {
namespace {

// A file's statements about its clock are not trusted.
std::int64_t moved(std::int64_t time, std::int64_t ahead) {
  return std::clamp(time + ahead, -TraceIndex::kMaxTime, TraceIndex::kMaxTime);
}

}  // namespace

std::int64_t TraceClocks::Clock::convert(std::int64_t time) const {
  for (const ClockAlignment& step : steps) time = moved(time, step.at(time).ahead);
  return time;
}

std::int64_t TraceClocks::Clock::worst_error(std::int64_t begin, std::int64_t end) const {
  std::int64_t worst = 0;
  for (const ClockAlignment& step : steps) {
    worst = std::min(worst + step.worst_error(begin, end), TraceIndex::kMaxTime);
    begin = moved(begin, step.at(begin).ahead);
    end = moved(end, step.at(end).ahead);
  }
  return worst;
}

void TraceClocks::find_clocks(const std::vector<TraceIndex>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = files[i].clock.empty() ? "file " + std::to_string(i) : files[i].clock;
    const auto found =
        std::find_if(clocks_.begin(), clocks_.end(), [&](const Clock& each) { return each.name == name; });
    clock_of_.push_back(static_cast<std::size_t>(found - clocks_.begin()));
    if (found == clocks_.end()) clocks_.push_back({name, files[i].host, {}, 0, i == 0});
  }
}

// Of clients with the one clock with servers with the other.
std::vector<ClockExchange> TraceClocks::exchanges(const std::vector<TraceIndex>& files, std::size_t client,
                                                  std::size_t server) const {
  std::vector<ClockExchange> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (clock_of_[i] != client) continue;
    for (std::size_t j = 0; j < files.size(); ++j) {
      if (clock_of_[j] != server || files[j].served.empty()) continue;
      const auto found = files[i].exchanges.find(files[j].served);
      if (found != files[i].exchanges.end())
        all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }
  return all;
}

// All clocks that were compared with this one. False: those comparisons contradict each other.
bool TraceClocks::align_with(std::size_t known, const std::vector<TraceIndex>& files, std::string& problem) {
  for (std::size_t to = 0; to < clocks_.size(); ++to) {
    if (clocks_[to].known) continue;
    const auto as_server = exchanges(files, known, to);
    const auto as_client = exchanges(files, to, known);
    if (as_server.empty() && as_client.empty()) continue;
    const auto step = as_server.size() >= as_client.size() ? ClockAlignment::of_client(as_server)
                                                           : ClockAlignment::of_server(as_client);
    if (!step) {
      problem = "the clocks of " + clocks_[known].host + " and " + clocks_[to].host +
                " cannot be aligned: the exchanges between them contradict each other (was one of the "
                "machines suspended?)";
      return false;
    }
    clocks_[to].steps = {*step};
    clocks_[to].steps.insert(clocks_[to].steps.end(), clocks_[known].steps.begin(),
                             clocks_[known].steps.end());
    clocks_[to].exchanges = std::max(as_server.size(), as_client.size());
    clocks_[to].known = true;
  }
  return true;
}

bool TraceClocks::align(const std::vector<TraceIndex>& files, std::string& problem) {
  find_clocks(files);
  for (std::size_t round = 0; round < clocks_.size(); ++round) {
    for (std::size_t from = 0; from < clocks_.size(); ++from) {
      if (clocks_[from].known && !align_with(from, files, problem)) return false;
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (clocks_[clock_of_[i]].known) continue;
    problem =
        files[i].path + ": its clock cannot be aligned with that of " + files[0].path +
        ": no client and server among the files have compared them, which those of older versions do not; " +
        "give the traces of a client and its server that connect the two hosts, or leave this one out";
    return false;
  }
  return true;
}

std::optional<TraceClocks::Alignment> TraceClocks::alignment(std::size_t file, std::int64_t begin,
                                                             std::int64_t end) const {
  const Clock& clock = clocks_[clock_of_[file]];
  if (clock.steps.empty()) return std::nullopt;
  return Alignment{clock.exchanges, begin - clock.convert(begin), clock.worst_error(begin, end)};
}

}  // namespace cleave::observe
