// Arbitrary lines of a monitor, read by the client's protocol at once and in pieces.
#include <algorithm>
#include <string>

#include "harness.h"
#include "neighbours/file_source.h"
#include "neighbours/monitor_protocol.h"

namespace {

using namespace std::chrono_literals;
using cleave::base::kMaxMachines;
using cleave::fuzz::require;
using cleave::neighbours::MonitorProtocol;

void check(const MonitorProtocol& session) {
  require((session.state() == MonitorProtocol::State::broken) == !session.error_text().empty(),
          "a fault has a name");
  require(session.error_text().find('\n') == std::string::npos, "a fault is one line");
  require(session.deadline() >= 5s, "there is patience");
  if (!session.last_count()) return;
  require(session.last_count()->vms >= 1 && session.last_count()->vms <= kMaxMachines,
          "a count is in its range");
}

bool same(const MonitorProtocol& a, const MonitorProtocol& b) {
  const bool last_count = a.last_count().has_value() == b.last_count().has_value() &&
                          (!a.last_count() || (a.last_count()->vms == b.last_count()->vms &&
                                               a.last_count()->at == b.last_count()->at));
  return last_count && a.state() == b.state() && a.error_text() == b.error_text();
}

// In pieces of `size`, all at the same time.
MonitorProtocol in_pieces(std::string_view text, std::size_t size) {
  MonitorProtocol session(0s);
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    session.receive(text.substr(0, size), 1s);
    check(session);
  }
  return session;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = cleave::fuzz::text_of(data, size);
  const MonitorProtocol whole = in_pieces(text, std::max<std::size_t>(size, 1));
  require(size > MonitorProtocol::kMaxBurst || same(whole, in_pieces(text, 1)), "pieces do not matter");
  require(size > MonitorProtocol::kMaxBurst || same(whole, in_pieces(text, 7)), "pieces do not matter");

  MonitorProtocol later = whole;
  later.check_timeout(whole.deadline());
  require(later.state() > MonitorProtocol::State::following, "silence ends it");
  later.receive("cleave-monitor 1 heartbeat=1\ncount 1 77777 0\n", whole.deadline());
  require(later.last_count().has_value() == whole.last_count().has_value(), "nothing is heard after the end");

  const auto count = cleave::neighbours::read_count(text);
  require(!count || (*count >= 1 && *count <= kMaxMachines), "a file's count is in its range");
  return 0;
}
