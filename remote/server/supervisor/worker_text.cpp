#include "remote/server/supervisor/worker_text.h"

#include <algorithm>

namespace cleave::remote::server {

void WorkerText::add(std::string_view bytes, Clock::time_point now, const Log& log) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::size_t kept = std::min(end, kLongestLine - line_.size());
    line_.append(bytes.substr(0, kept));
    dropped_ += end - kept;
    if (end == bytes.size()) return;
    end_line(now, log);
    bytes.remove_prefix(end + 1);
  }
}

void WorkerText::end(const Log& log) {
  if (!line_.empty()) log(line_);
  line_.clear();
  log_dropped(log);
}

void WorkerText::end_line(Clock::time_point now, const Log& log) {
  if (rate_.next() > now) {
    dropped_ += line_.size() + 1;
  } else {
    rate_.count(now);
    log_dropped(log);
    log(line_);
  }
  line_.clear();
}

void WorkerText::log_dropped(const Log& log) {
  if (dropped_ != 0) log("(" + std::to_string(dropped_) + " bytes more have been dropped)");
  dropped_ = 0;
}

}  // namespace cleave::remote::server
