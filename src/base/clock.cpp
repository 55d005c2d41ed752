#include "base/clock.h"

#include <ctime>
#include <thread>

#include "base/no_destructor.h"

namespace cleave::base {
namespace {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void sleep_for(Nanoseconds duration) override { std::this_thread::sleep_for(duration); }
  void spin() override {}
  Nanoseconds thread_time() override {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  }
};

}  // namespace

Clock& Clock::system() {
  static constinit NoDestructor<SystemClock> clock;
  return *clock;
}

}  // namespace cleave::base
