#include "remote/server/front/relay.h"

#include <array>
#include <memory>
#include <poll.h>
#include <thread>

namespace cleave::remote::server {
namespace {

constexpr std::size_t kBufferSize = std::size_t{256} << 10U;
constexpr Duration kAnyTime = std::chrono::hours(24 * 365);

// One way. Several records are passed on together if they have arrived.
void pump(Stream& from, Stream& to, Duration stall_timeout, const WhileBlocked& while_blocked) {
  const auto buffer = std::make_unique<std::array<std::byte, kBufferSize>>();
  const std::span<std::byte> all(*buffer);
  for (;;) {
    std::size_t filled = 0;
    const ReadStatus got = from.read(all, filled, Time::max());
    if (got == ReadStatus::timeout) continue;  // of a day
    if (got == ReadStatus::closed) break;
    std::size_t more = 0;
    while (filled < all.size() && from.read(all.subspan(filled), more, kNoWait) == ReadStatus::data)
      filled += more;
    iovec part{all.data(), filled};
    if (!to.write(std::span(&part, 1), stall_timeout, while_blocked)) break;
  }
}

}  // namespace

void relay(Stream& outside, Stream& inside, Duration stall_timeout, Duration last_read_time) {
  std::jthread inwards([&] {
    Time gone = Time::max();
    // The inside reads nothing, and so would not notice.
    const WhileBlocked end_with_the_client = [&] {
      const Time now = std::chrono::steady_clock::now();
      if (gone == Time::max() && wait_for(outside.descriptor(), POLLRDHUP, kNoWait)) gone = now;
      if (gone != Time::max() && now - gone > last_read_time) inside.shutdown();
    };
    pump(outside, inside, kAnyTime, end_with_the_client);
    inside.shutdown();
  });
  pump(inside, outside, stall_timeout, {});
  inside.shutdown();
  outside.shutdown();
}

}  // namespace cleave::remote::server
