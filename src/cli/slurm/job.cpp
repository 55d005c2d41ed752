#include "cli/slurm/job.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/text/number.h"
#include "cli/slurm/process.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

// The word after `key`, up to a space, a comma or the line's end.
std::string word_after(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
}

std::string line_with(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

}  // namespace

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

unsigned number_variable(const std::string& name) {
  return static_cast<unsigned>(base::parse_unsigned(variable(name.c_str()), 1, 1'000'000).value_or(0));
}

std::string node_address() {
  const std::string node = variable("SLURMD_NODENAME");
  if (node.empty()) throw std::runtime_error("this is no task of a Slurm job: SLURMD_NODENAME is not set");
  const std::string address =
      word_after(capture({"scontrol", "--oneliner", "show", "node", node}).output, "NodeAddr=");
  return address.empty() ? node : address;
}

std::string munge_socket() {
  static const std::string socket =
      word_after(line_with(capture({"scontrol", "show", "config"}).output, "AuthInfo"), "socket=");
  return socket;
}

std::string own_command() { return fs::read_symlink("/proc/self/exe"); }

TaskFolder::TaskFolder() {
  const std::string of_job = variable("CLEAVE_SLURM_FOLDER");
  const std::string temporary = variable("TMPDIR").empty() ? "/tmp" : variable("TMPDIR");
  std::string path = (of_job.empty() ? temporary : of_job) + "/cleave-slurm-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  path_ = path;
}

TaskFolder::~TaskFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TaskFolder::write(const char* name, const std::string& text) const {
  std::string path = file(name);
  const base::FileDescriptor stream(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!stream.is_open() || !base::write_all(stream.get(), text)) {
    throw std::runtime_error(path + ": " + std::strerror(errno));
  }
  return path;
}

JobWatch::JobWatch(std::chrono::seconds interval)
    : interval_(interval), next_(std::chrono::steady_clock::now() + interval) {}

bool JobWatch::goes_on() {
  if (std::chrono::steady_clock::now() < next_) return true;
  const Captured answer =
      capture({"squeue", "--noheader", "--states=all", "--format=%T", "--jobs=" + variable("SLURM_JOB_ID")});
  next_ = std::chrono::steady_clock::now() + interval_;
  const std::string state = answer.output.substr(0, answer.output.find('\n'));
  // Without an answer, or while it is suspended, it may continue.
  constexpr std::string_view kEnded[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "COMPLETING", "DEADLINE",
                                         "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",  "REVOKED",
                                         "TIMEOUT",   "REQUEUED",  "PENDING"};
  return answer.status != 0 || std::find(std::begin(kEnded), std::end(kEnded), state) == std::end(kEnded);
}

}  // namespace cleave::cli
