#include "cli/top/live/live.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>

#include "cli/top/live/names.h"
#include "cli/top/live/scene.h"
#include "cli/top/live/terminal.h"
#include "limits/memory_ledger.h"

namespace cleave::cli {
namespace {

using Clock = std::chrono::steady_clock;

class LiveScreen {
 public:
  LiveScreen(const ViewOptions& options, NeighbourProbe& neighbours, Terminal& terminal)
      : controls_(options), neighbours_(neighbours), terminal_(terminal) {}

  void show() {
    while (!controls_.has_quit() && !ends_) {
      if (is_due()) look();
      controls_.limit(extent());
      terminal_.draw(layout(scene_, controls_, terminal_.size(), terminal_.has_unicode()));
      wait();
    }
  }

 private:
  [[nodiscard]] bool is_due() const {
    return !looked_ || (!controls_.is_paused() && Clock::now() >= *looked_ + controls_.interval());
  }

  void look() {
    looked_ = Clock::now();
    TopLook now{take_snapshot(neighbours_), {}, {}};
    now.ledgers = limits::read_ledgers(neighbours_.registry());
    now.names = names_.read(now.snapshot.processes);
    scene_ = builder_.take(now);
  }

  [[nodiscard]] Extent extent() const { return extent_of(scene_, controls_, terminal_.size()); }

  // After a look: until the next one is due, or something happens.
  void wait() {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*looked_ + controls_.interval() - Clock::now()).count();
    const int timeout = controls_.is_paused() ? -1 : static_cast<int>(std::max<std::int64_t>(left, 0));
    std::array<pollfd, 3> waiting = {
        {{STDIN_FILENO, POLLIN, 0}, {terminal_.signals(), POLLIN, 0}, {neighbours_.stream(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), timeout);
    if (waiting[2].revents != 0) neighbours_.read();
    if (waiting[1].revents != 0) ends_ = terminal_.follow_signals();
    if ((waiting[0].revents & POLLIN) != 0) follow_keys();
    if ((waiting[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) ends_ = true;  // terminal closed
  }

  void follow_keys() {
    for (const Key each : terminal_.read_keys()) {
      if (each == Key::control_l) terminal_.forget_content();
      controls_.press(each, extent());
    }
  }

  Controls controls_;
  NeighbourProbe& neighbours_;
  Terminal& terminal_;
  NameReader names_;
  SceneBuilder builder_;
  TopScene scene_;
  std::optional<Clock::time_point> looked_;
  bool ends_ = false;
};

}  // namespace

int show_live(const ViewOptions& options, NeighbourProbe& neighbours) {
  std::string problem;
  const std::unique_ptr<Terminal> terminal = Terminal::open(problem);
  if (!terminal) {
    std::fprintf(stderr, "cleave: %s\n", problem.c_str());
    return 2;
  }
  LiveScreen(options, neighbours, *terminal).show();
  return 0;
}

}  // namespace cleave::cli
