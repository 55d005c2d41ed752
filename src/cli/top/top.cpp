#include "cli/top/top.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include "cleave/registry.h"
#include "cli/probe/child_process.h"
#include "cli/probe/records.h"
#include "cli/system/drivers.h"
#include "cli/top/metrics.h"
#include "cli/top/terminal.h"
#include "cli/top/view.h"

namespace cleave::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Until then the view has no number of VMs. What is printed once waits longer: it is not updated.
constexpr std::chrono::milliseconds library_timeout{3000};
constexpr std::chrono::milliseconds library_timeout_once{20'000};

// Without layers and drivers, like the probe of `cleave doctor`; a driver could crash it.
ChildRequest watch_neighbours(const DriverSelection& none) {
  return {{"probe", "neighbours"}, {{"OPENCL_LAYERS", std::nullopt}, none.variable()}, {}};
}

// A drop-in in a child process, which reads the settings and follows the sources of the number of VMs.
class NeighbourProbe {
 public:
  NeighbourProbe() : none_({}), child_(watch_neighbours(none_)) {}

  int stream() const { return is_open_ ? child_.stream() : -1; }

  void read() {
    is_open_ = child_.stream() >= 0 && child_.read();
    for (const Record& record : decode(child_.take_lines())) take(record);
  }

  // Waits for the first answer, but no longer than `timeout`.
  void await(std::chrono::milliseconds timeout) {
    const auto end = Clock::now() + timeout;
    while (vms_.empty() && stream() >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      pollfd stream_or_time{stream(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&stream_or_time, 1, static_cast<int>(left.count())) <= 0) return;
      read();
    }
  }

  const std::string& vms() const { return vms_; }
  const std::string& sources() const { return sources_; }
  const std::string& registry() const { return registry_; }

 private:
  void take(const Record& record) {
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

  DriverSelection none_;
  StreamingChild child_;
  bool is_open_ = true;
  std::string vms_;
  std::string sources_;
  std::string pending_sources_;
  std::string registry_ = CLEAVE_REGISTRY_FOLDER;
};

// Long enough for shares, and hardly to be noticed.
constexpr std::chrono::milliseconds second_look{250};

Snapshot take_snapshot(const NeighbourProbe& neighbours) {
  std::vector<RunningProcess> processes = running_processes(neighbours.registry());
  std::vector<SharedDevice> devices = shared_devices(neighbours.registry(), processes);
  return {neighbours.vms(), neighbours.sources(), std::move(processes), std::move(devices), Clock::now()};
}

void print(const TopRequest& request, const Snapshot& look, const Snapshot* before) {
  if (request.json) {
    std::fputs(as_json(look, before).c_str(), stdout);
  } else {
    for (const std::string& line : as_lines(look, before, 0)) std::printf("%s\n", line.c_str());
  }
  std::fflush(stdout);
}

// Where devices are shared, who has how much of them is seen by a second look.
void print_once(const TopRequest& request, const NeighbourProbe& neighbours) {
  const Snapshot look = take_snapshot(neighbours);
  const auto is_shared = [](const SharedDevice& device) { return device.is_shared(); };
  if (std::none_of(look.devices.begin(), look.devices.end(), is_shared)) return print(request, look, nullptr);
  std::this_thread::sleep_for(second_look);
  print(request, take_snapshot(neighbours), &look);
}

// Prints one object per line until the reader has gone.
void print_on(const TopRequest& request, NeighbourProbe& neighbours) {
  std::optional<Snapshot> before;
  while (std::ferror(stdout) == 0) {
    Snapshot look = take_snapshot(neighbours);
    print(request, look, before ? &*before : nullptr);
    before = std::move(look);
    const auto next = Clock::now() + request.interval;
    for (auto now = Clock::now(); now < next; now = Clock::now()) {
      pollfd stream{neighbours.stream(), POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
      if (::poll(&stream, 1, static_cast<int>(left.count())) > 0) neighbours.read();
    }
  }
}

void show(const TopRequest& request, NeighbourProbe& neighbours) {
  const Terminal terminal;
  std::optional<Snapshot> before;
  std::optional<Snapshot> look;
  auto next = Clock::now();
  for (bool ended = false; !ended;) {
    if (Clock::now() >= next) {
      before = std::exchange(look, take_snapshot(neighbours));
      next = Clock::now() + request.interval;
    }
    const Snapshot* const rates_since = before ? &*before : nullptr;
    terminal.draw(as_lines(*look, rates_since, terminal.size().width));
    std::array<pollfd, 3> waiting = {
        {{STDIN_FILENO, POLLIN, 0}, {terminal.signals(), POLLIN, 0}, {neighbours.stream(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    ::poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
    if (waiting[2].revents != 0) neighbours.read();
    if (waiting[1].revents != 0) ended = terminal.read_signal();
    if (waiting[0].revents != 0) ended = Terminal::quit_requested() || ended;
  }
}

}  // namespace

int top(const TopRequest& request) {
  if (!request.metrics.empty()) {
    NeighbourProbe neighbours;
    neighbours.await(library_timeout_once);
    return serve_metrics(request.metrics, neighbours.registry());
  }
  if (!request.once && !request.json && !Terminal::is_present()) {
    std::fputs("cleave: a live view needs a terminal: use --once, or --json\n", stderr);
    return 2;
  }
  NeighbourProbe neighbours;
  neighbours.await(request.once || request.json ? library_timeout_once : library_timeout);
  if (request.once) {
    print_once(request, neighbours);
  } else if (request.json) {
    print_on(request, neighbours);
  } else {
    show(request, neighbours);
  }
  return 0;
}

}  // namespace cleave::cli
