#include "cli/top/top.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/text/display_text.h"
#include "cli/top/live/live.h"
#include "cli/top/metrics.h"
#include "cli/top/neighbour_probe.h"
#include "cli/top/view.h"

namespace cleave::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Until then the view has no number of VMs. What is printed once waits longer: it is not updated.
constexpr std::chrono::milliseconds library_timeout{3000};
constexpr std::chrono::milliseconds library_timeout_once{20'000};

// Long enough for shares, and hardly noticeable.
constexpr std::chrono::milliseconds second_look{250};

void print(const TopRequest& request, const Snapshot& look, const Snapshot* before) {
  if (request.json) {
    std::fputs(as_json(look, before).c_str(), stdout);
  } else {
    for (const std::string& line : as_lines(look, before, 0))
      std::printf("%s\n", base::displayable(line).c_str());
  }
  std::fflush(stdout);
}

// If devices are shared, shares need a second snapshot.
void print_once(const TopRequest& request, const NeighbourProbe& neighbours) {
  const Snapshot look = take_snapshot(neighbours);
  const auto is_shared = [](const SharedDevice& device) { return device.is_shared(); };
  if (std::none_of(look.devices.begin(), look.devices.end(), is_shared)) return print(request, look, nullptr);
  std::this_thread::sleep_for(second_look);
  print(request, take_snapshot(neighbours), &look);
}

// Prints one object per line until the reader has closed the pipe.
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

int show_on_terminal([[maybe_unused]] const TopRequest& request,
                     [[maybe_unused]] NeighbourProbe& neighbours) {
#ifdef CLEAVE_HAS_LIVE_SCREEN
  ViewOptions view = request.view;
  view.interval = request.interval;
  return show_live(view, neighbours);
#else
  std::fputs("cleave: built without the live screen, as ncurses was missing: use --once, or --json\n",
             stderr);
  return 1;
#endif
}

}  // namespace

int top(const TopRequest& request) {
  if (request.chooses_view && (request.once || request.json || !request.metrics.empty())) {
    std::fputs(
        "cleave: --sort, --by and --device are for the live screen: leave them out, or --once, --json and "
        "--metrics\n",
        stderr);
    return 2;
  }
  if (!request.metrics.empty()) {
    NeighbourProbe neighbours;
    neighbours.await(library_timeout_once);
    return serve_metrics(request.metrics, neighbours.registry());
  }
  const bool is_live = !request.once && !request.json;
  if (is_live && (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1)) {
    std::fputs("cleave: a live view needs a terminal: use --once, or --json\n", stderr);
    return 2;
  }
  NeighbourProbe neighbours;
  neighbours.await(is_live ? library_timeout : library_timeout_once);
  if (is_live) return show_on_terminal(request, neighbours);
  if (request.once) {
    print_once(request, neighbours);
  } else {
    print_on(request, neighbours);
  }
  return 0;
}

}  // namespace cleave::cli
