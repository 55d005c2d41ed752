#include "cli/slurm/sealed.h"

#include <stdexcept>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "cli/slurm/job.h"
#include "cli/slurm/process.h"

namespace cleave::cli {
namespace {

constexpr int kReplayed =
    17;  // unmunge's status for a credential that it has decoded before; it still returns the text

std::vector<std::string> with_socket(std::vector<std::string> command) {
  const std::string socket = munge_socket();
  if (!socket.empty()) command.insert(command.end(), {"-S", socket});
  return command;
}

std::string without_final_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::string seal(const std::string& text) {
  const Captured sealed = capture(with_socket({"munge", "-u", std::to_string(::geteuid())}), text);
  if (sealed.status != 0) throw std::runtime_error("munge failed: is munged running on this node?");
  return without_final_newline(sealed.output);
}

std::string unseal(const std::string& sealed) {
  const Captured opened = capture(with_socket({"unmunge", "-N", "-k", "UID"}), sealed + "\n");
  if (opened.status != 0 && opened.status != kReplayed) {
    throw std::runtime_error("unmunge failed with status " + std::to_string(opened.status) +
                             ": do the nodes have the same MUNGE key, and the same time?");
  }
  // A line for the user's number, an empty one, and the text.
  const std::string_view output = opened.output;
  const std::size_t head = output.find("\n\n");
  const std::size_t number = output.find_first_of("0123456789");
  if (head == std::string_view::npos || number > head ||
      output.substr(number, head - number) != std::to_string(::geteuid())) {
    throw std::runtime_error("a message within the job is not of this user");
  }
  return std::string(output.substr(head + 2));
}

}  // namespace cleave::cli
