// What a program can observe of one case, as one line of text. Two runs of a case are equal if their lines are.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

using Words = std::vector<std::uint32_t>;

class Observations {
 public:
  // With `shown`, observations are printed as they are made: the case as a list of calls.
  explicit Observations(bool shown) : shown_(shown) {}

  void add(std::string_view name, long long value);
  void add(std::string_view name, std::string_view text);  // line ends and the like are escaped
  void hash(std::string_view name, const void* bytes, std::size_t size);
  // The queries of a finished command's event: type, status, and the order of its times.
  void event(std::string_view name, cl_event event, cl_command_queue queue);

  void note(std::string_view call) const;
  bool shown() const { return shown_; }
  const std::string& line() const { return line_; }

 private:
  bool shown_;
  std::string line_;
};

}  // namespace fuzz
