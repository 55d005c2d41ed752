#include "cli/top/neighbour_probe.h"

#include <optional>
#include <poll.h>
#include <utility>

namespace cleave::cli {
namespace {

// Without layers and drivers, like the probe of `cleave doctor`; a driver could crash it.
ChildRequest watch_neighbours(const DriverSelection& none) {
  return {{"probe", "neighbours"}, {{"OPENCL_LAYERS", std::nullopt}, none.variable()}, {}};
}

}  // namespace

NeighbourProbe::NeighbourProbe() : none_({}), child_(watch_neighbours(none_)) {}

void NeighbourProbe::read() {
  is_open_ = child_.stream() >= 0 && child_.read();
  for (const Record& record : decode(child_.take_lines())) take(record);
}

void NeighbourProbe::await(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (vms_.empty() && stream() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd stream_or_time{stream(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&stream_or_time, 1, static_cast<int>(left.count())) <= 0) return;
    read();
  }
}

void NeighbourProbe::take(const Record& record) {
  if (record[0] == "setting" && record.size() > 2 && record[1] == "neighbours.registry")
    registry_ = record[2];
  if (record[0] == "neighbour" && record.size() > 4) {
    pending_sources_ += (pending_sources_.empty() ? "" : ", ") + record[1] + ": " +
                        (record[4] == "stale" ? "silent" : record[3]);
  }
  if (record[0] != "vms" || record.size() < 2) return;
  vms_ = record[1];  // the last record of each answer
  sources_ = std::exchange(pending_sources_, {});
}

Snapshot take_snapshot(const NeighbourProbe& neighbours) {
  std::vector<RunningProcess> processes = running_processes(neighbours.registry());
  std::vector<SharedDevice> devices = shared_devices(neighbours.registry(), processes);
  return {neighbours.vms(), neighbours.sources(), std::move(processes), std::move(devices),
          std::chrono::steady_clock::now()};
}

}  // namespace cleave::cli
