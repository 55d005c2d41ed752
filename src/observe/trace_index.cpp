#include "observe/trace_index.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text/number.h"
#include "observe/trace_origin.h"

namespace cleave::observe {
namespace {

constexpr const char* kNoOrigin =
    ": does not say whose clock it is of, so it cannot be aligned: it is no trace of Cleave's, or one of an "
    "older version";

bool is_time(std::int64_t ns) { return ns >= -TraceIndex::kMaxTime && ns <= TraceIndex::kMaxTime; }

// The event's own text in its line: files are lists with a line for each event.
std::string_view without_commas(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == ','))
    line.remove_suffix(1);
  return line;
}

}  // namespace

bool TraceIndex::read(const std::string& file, std::string& problem) {
  path = file;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return problem = file + ": cannot be read (" + std::strerror(errno) + ")", false;
  std::string line;
  std::uint64_t at = 0;
  std::uint64_t bad = 0;  // the number of a line that is no event
  for (std::uint64_t number = 1; std::getline(stream, line); at += line.size() + 1, ++number) {
    const std::string_view event = without_commas(line);
    if (event.empty() || event == "[" || event == "]") continue;
    if (bad != 0) break;
    if (!add(event, at)) bad = number;
    // The last line may have been cut off.
    if (bad != 0 && !has_origin_) break;
  }
  if (!has_origin_) return problem = file + kNoOrigin, false;
  if (bad != 0 && stream) return problem = file + ": line " + std::to_string(bad) + " is not an event", false;
  return true;
}

bool TraceIndex::add(std::string_view line, std::uint64_t at) {
  const auto event = JsonMembers::of(line);
  const auto process_id = event ? event->number("pid") : std::nullopt;
  if (!process_id) return false;
  pid = *process_id;
  const std::string_view phase = event->string("ph");
  if (phase == "M") return add_note(*event, line), true;
  const auto time = event->nanoseconds("ts");
  if (!time || !is_time(*time) || phase.size() != 1) return false;
  Entry entry{*time, 0, at, static_cast<std::uint32_t>(line.size()), Rank::moment};
  if (phase == "E") entry.rank = Rank::end;
  if (phase == "B") entry.duration = INT64_MAX;
  if (phase == "X") entry.duration = event->nanoseconds("dur").value_or(0);
  if (phase == "X" && (entry.duration < 0 || entry.duration > kMaxTime)) return false;
  if (phase == "B" || phase == "X") entry.rank = Rank::span;
  entries.push_back(entry);
  if (phase == "X") add_anchors(*event, entry);
  return true;
}

void TraceIndex::add_note(const JsonMembers& event, std::string_view line) {
  const auto arguments = JsonMembers::of(event.json("args"));
  if (!arguments) return;
  const std::string_view what = event.string("name");
  if (what == "process_name") {
    name = arguments->string("name");
  } else if (what == "process_labels") {
    labels = arguments->string("labels");
  } else if (what == "thread_name") {
    names.emplace_back(line);
    track_names[event.number("tid").value_or(0)] = arguments->string("name");
  } else if (what == kOriginNote) {
    has_origin_ = true;
    process = arguments->string("process");
    host = arguments->string("host");
    if (!arguments->string("boot").empty())
      clock = std::string(arguments->string("boot")) + " " + std::string(arguments->string("time_namespace"));
  } else if (what == kSessionNote && arguments->string("role") == "server") {
    served = arguments->string("session");
  } else if (what == kUntracedNote) {
    untraced.emplace(arguments->string("server"));
  } else if (what == kExchangeNote) {
    const auto sent_at = arguments->number("sent_ns");
    const auto server = arguments->number("server_ns");
    const auto received = arguments->number("received_ns");
    if (sent_at && server && received && is_time(*sent_at) && is_time(*server) && is_time(*received))
      exchanges[std::string(arguments->string("session"))].push_back({*sent_at, *server, *received});
  }
}

void TraceIndex::add_anchors(const JsonMembers& event, const Entry& entry) {
  const auto arguments = JsonMembers::of(event.json("args"));
  if (!arguments) return;
  const auto unsigned_of = [&](const char* key) {
    return static_cast<std::uint64_t>(arguments->number(key).value_or(0));
  };
  const std::string_view category = event.string("cat");
  const Anchor anchor{event.number("tid").value_or(0), entry.time};
  const std::uint64_t launch = unsigned_of("launch");
  const auto keep_first = [&](std::unordered_map<std::uint64_t, Anchor>& all) {
    const auto [found, is_new] = all.try_emplace(launch, anchor);
    if (!is_new && anchor.time < found->second.time) found->second = anchor;
  };
  if (category == "call") add_sent(arguments->string("sent"), anchor);
  if (category == "request") requests.try_emplace(unsigned_of("command"), anchor);
  if (category == "launch") launches.try_emplace(launch, Launch{anchor, unsigned_of("command")});
  if (category == "device") keep_first(runs);
  if (category != "turn" || event.string("name") != "has the device") return;
  if (launch != 0) keep_first(turns);
  holds.push_back(
      {anchor.track, std::string(arguments->string("device")), entry.time, entry.time + entry.duration});
}

// "SESSION:NUMBER SESSION:NUMBER"
void TraceIndex::add_sent(std::string_view list, const Anchor& call) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    const auto colon = one.find(':');
    if (colon == std::string_view::npos) continue;
    const auto number = base::parse_unsigned(one.substr(colon + 1), 1, UINT64_MAX);
    if (number) sent.push_back({std::string(one.substr(0, colon)), *number, call});
  }
}

}  // namespace cleave::observe
