// A source that reads a count from a file: decimal digits, with optional white space around them. The file is checked
// once a second and read when it has changed, which also works on network file systems.
//
// Not thread-safe.
#pragma once

#include <string>

#include <sys/types.h>

#include "neighbours/source.h"

namespace cleave::neighbours {

// The number in such a text, at most base::kMaxMachines; 0 counts as 1. Empty if it is malformed.
std::optional<unsigned> read_count(std::string_view text);

class FileSource final : public Source {
 public:
  explicit FileSource(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string name() const override { return "file:" + path_; }
  [[nodiscard]] std::string endpoint() const override { return path_; }
  [[nodiscard]] std::string state() const override { return state_; }
  [[nodiscard]] std::optional<TimedCount> last_count() const override { return last_count_; }
  [[nodiscard]] WakeCondition wake_condition() const override { return {-1, 0, next_read_}; }
  void step(base::Nanoseconds now) override;
  [[nodiscard]] bool first_answer_known() const override { return next_read_ != base::Nanoseconds(0); }
  [[nodiscard]] std::string take_warning() override;

 private:
  // Identifies the content of the file.
  struct Version {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    std::int64_t changed = 0;  // nanoseconds
    bool operator==(const Version&) const = default;
  };

  void read();
  void fail(const char* state, const std::string& why);

  const std::string path_;
  const char* state_ = "not read yet";
  Version read_;                   // of count_
  bool may_have_changed_ = false;  // read_ was so recent that a change after it may have the same time stamp
  std::optional<unsigned> count_;
  std::optional<TimedCount> last_count_;
  base::Nanoseconds next_read_{0};
  std::string warning_;
};

}  // namespace cleave::neighbours
