// What a merge needs to know of one trace file: where its events are, and which of them arrows begin and end at. The events
// themselves stay in the file; 40 bytes are kept of each, and some more of calls and launches.
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/clock_alignment.h"
#include "observe/trace_events.h"
#include "observe/trace_lines.h"

namespace cleave::observe {

class TraceIndex {
 public:
  // Times are within these many ns of zero, some 18 years. What lies beyond is no time of a clock, and is refused.
  static constexpr std::int64_t kMaxTime = std::int64_t{1} << 59;

  // Where an arrow may begin or end: at the beginning of a span.
  struct Anchor {
    Track track = 0;
    std::int64_t time = 0;  // ns, of the file's clock
  };
  // A call that has sent this command to a server.
  struct SentCommand {
    std::string session;
    std::uint64_t command = 0;
    Anchor call;
  };
  struct Launch {
    Anchor call;
    std::uint64_t command = 0;  // of the client's, for which it was made; 0: none
  };
  // The process had the device.
  struct Hold {
    Track track = 0;
    std::string device;  // its identity on this host, as JSON; empty: unknown
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Entry {
    std::int64_t time = 0;
    std::int64_t duration = 0;  // INT64_MAX: a beginning
    std::uint64_t at = 0;       // its line in the file
    std::uint32_t size = 0;
    std::uint8_t rank = 0;  // among events of the same time
  };
  // The order of events that begin at one time: ends, spans from the longest, what lies within.
  enum Rank : std::uint8_t { end, span, moment, arrow };

  // Reads the file. False: `problem` says why, for people. A truncated file is read to its end.
  bool read(const std::string& path, std::string& problem);

  std::string path;
  // Of kOriginNote, as written.
  std::string clock;    // equal for files with the same clock; empty: unknown
  std::string process;  // the process, on its host; empty: unknown
  std::string host;
  std::int64_t pid = 0;
  std::string name;                // of the process
  std::string labels;              // the same
  std::vector<std::string> names;  // the lines that name tracks
  std::map<Track, std::string> track_names;

  std::vector<Entry> entries;
  std::string served;              // a server's: the session
  std::set<std::string> untraced;  // a client's: the servers that trace nothing of it
  std::map<std::string, std::vector<ClockExchange>> exchanges;  // a client's, by session
  std::vector<SentCommand> sent;
  std::unordered_map<std::uint64_t, Anchor> requests;  // a server's, by command
  std::unordered_map<std::uint64_t, Launch> launches;  // by their numbers
  std::unordered_map<std::uint64_t, Anchor> runs;      // on the device, the first of each launch
  std::unordered_map<std::uint64_t, Anchor> turns;     // that began for a launch
  std::vector<Hold> holds;

 private:
  bool add(std::string_view line, std::uint64_t at);
  void add_note(const JsonMembers& event, std::string_view line);
  void add_anchors(const JsonMembers& event, const Entry& entry);
  void add_sent(std::string_view list, const Anchor& call);

  bool has_origin_ = false;
};

}  // namespace cleave::observe
