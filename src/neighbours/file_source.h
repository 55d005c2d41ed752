// A number in a file, which somebody else keeps up to date: decimal digits, with white space around them if
// need be. Looked at once a second and read when it has changed; works on network file systems, which notify
// nobody.
//
// Not thread-safe.
#pragma once

#include <string>

#include <sys/types.h>

#include "neighbours/source.h"

namespace cleave::neighbours {

// The number in such a text: at most kMostVms, and 0 is read as 1. Empty where it is none.
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
  // What tells one content of the file from another.
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
  Version read_;                   // the one that count_ is from
  bool may_have_changed_ = false;  // it was so young that a change right after it might not show
  std::optional<unsigned> count_;
  std::optional<TimedCount> last_count_;
  base::Nanoseconds next_read_{0};
  std::string warning_;
};

}  // namespace cleave::neighbours
