// What a monitor may send: the follower's session reads it, whole and in pieces.
#include <algorithm>
#include <string>

#include "harness.h"
#include "neighbours/file_source.h"
#include "neighbours/session.h"

namespace {

using namespace std::chrono_literals;
using cleave::base::kMostMachines;
using cleave::fuzz::require;
using cleave::neighbours::Session;

void check(const Session& session) {
  require((session.state() == Session::State::broken) == !session.fault().empty(), "a fault has a name");
  require(session.fault().find('\n') == std::string::npos, "a fault is one line");
  require(session.deadline() >= 5s, "there is patience");
  if (!session.heard()) return;
  require(session.heard()->vms >= 1 && session.heard()->vms <= kMostMachines, "a count is in its range");
}

bool same(const Session& a, const Session& b) {
  const bool heard = a.heard().has_value() == b.heard().has_value() &&
                     (!a.heard() || (a.heard()->vms == b.heard()->vms && a.heard()->at == b.heard()->at));
  return heard && a.state() == b.state() && a.fault() == b.fault();
}

// In pieces of `size`, all at one moment.
Session in_pieces(std::string_view text, std::size_t size) {
  Session session(0s);
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    session.take(text.substr(0, size), 1s);
    check(session);
  }
  return session;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = cleave::fuzz::text_of(data, size);
  const Session whole = in_pieces(text, std::max<std::size_t>(size, 1));
  require(size > Session::kMostBytes || same(whole, in_pieces(text, 1)), "pieces do not matter");
  require(size > Session::kMostBytes || same(whole, in_pieces(text, 7)), "pieces do not matter");

  Session later = whole;
  later.look_at_the_clock(whole.deadline());
  require(later.state() > Session::State::following, "silence ends it");
  later.take("cleave-monitor 1 heartbeat=1\ncount 1 77777 0\n", whole.deadline());
  require(later.heard().has_value() == whole.heard().has_value(), "nothing is heard after the end");

  const auto count = cleave::neighbours::read_count(text);
  require(!count || (*count >= 1 && *count <= kMostMachines), "a file's count is in its range");
  return 0;
}
