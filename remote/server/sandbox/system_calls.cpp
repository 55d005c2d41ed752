#include "remote/server/sandbox/system_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sched.h>
#include <seccomp.h>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

namespace cleave::remote::server {
namespace {

constexpr std::array kRefused{
    // Other processes' memory, descriptors and secrets.
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "keyctl", "add_key", "request_key",
    // The system itself.
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
    "swapoff", "acct", "quotactl", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    "sethostname", "setdomainname", "iopl", "ioperm", "vhangup",
    // Other views of the file system, and other namespaces.
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "setns", "open_by_handle_at", "fanotify_init",
    // Large parts of the kernel that have had many faults and that drivers do not need.
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    // A connection that was passed in would lead elsewhere: it belongs to the network that it was made in.
    "connect", "bind", "listen", "accept", "accept4",
    // A process group is killed as a whole.
    "setsid", "setpgid"};

constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
// A bit of a signal's number in the flags of clone(2).
constexpr std::uint64_t kNewTime = 0x80;
constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;
constexpr std::uint32_t kTerminalInput[] = {TIOCSTI, TIOCLINUX};

// The kernel ignores the upper half of what it takes for an int.
constexpr scmp_arg_cmp argument_has(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

class Filter {
 public:
  explicit Filter(const std::vector<std::string>& allowed)
      : allowed_(allowed), context_(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release) {
    if (context_ == nullptr) error_ = -ENOMEM;
  }

  void refuse(const char* name, int error = EPERM) {
    const int number = number_of(name);
    if (number != __NR_SCMP_ERROR)
      check(::seccomp_rule_add(context_.get(), SCMP_ACT_ERRNO(error), number, 0));
  }
  void refuse_if(const char* name, const scmp_arg_cmp& condition) {
    const int number = number_of(name);
    if (number != __NR_SCMP_ERROR)
      check(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(EPERM), number, 1, &condition));
  }
  int load() {
    if (error_ == 0) check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    if (error_ == 0) check(::seccomp_load(context_.get()));
    return -error_;
  }

 private:
  // A call that this machine does not have needs no rule.
  [[nodiscard]] int number_of(const char* name) const {
    const bool is_allowed = std::find(allowed_.begin(), allowed_.end(), name) != allowed_.end();
    return is_allowed ? __NR_SCMP_ERROR : ::seccomp_syscall_resolve_name(name);
  }
  void check(int result) {
    if (error_ == 0 && result < 0) error_ = result;
  }

  const std::vector<std::string>& allowed_;
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int error_ = 0;
};

void refuse_namespaces(Filter& filter) {
  for (std::uint64_t bit = 1; bit <= kLowHalf; bit <<= 1U) {
    if ((kNamespaces & bit) == 0) continue;
    filter.refuse_if("clone", argument_has(0, bit, bit));
    filter.refuse_if("unshare", argument_has(0, bit, bit));
  }
  filter.refuse_if("unshare", argument_has(0, kNewTime, kNewTime));
  // Its flags are in memory, where a filter does not look. The C library uses clone(2) where this does not exist.
  filter.refuse("clone3", ENOSYS);
}

}  // namespace

bool is_system_call(const std::string& name) {
  return ::seccomp_syscall_resolve_name(name.c_str()) != __NR_SCMP_ERROR;
}

std::string refuse_system_calls(const std::vector<std::string>& allowed) {
  Filter filter(allowed);
  for (const char* const name : kRefused) filter.refuse(name);
  refuse_namespaces(filter);
  for (const std::uint32_t request : kTerminalInput)
    filter.refuse_if("ioctl", argument_has(1, kLowHalf, request));
  // Connections are passed in; nothing else needs a network.
  filter.refuse_if("socket", {0, SCMP_CMP_NE, AF_UNIX, 0});
  filter.refuse_if("socketpair", {0, SCMP_CMP_NE, AF_UNIX, 0});
  // They connect as well.
  filter.refuse_if("sendto", argument_has(3, MSG_FASTOPEN, MSG_FASTOPEN));
  filter.refuse_if("sendmsg", argument_has(2, MSG_FASTOPEN, MSG_FASTOPEN));
  filter.refuse_if("sendmmsg", argument_has(3, MSG_FASTOPEN, MSG_FASTOPEN));
  // A worker ends with its server.
  filter.refuse_if("prctl", argument_has(0, kLowHalf, PR_SET_PDEATHSIG));
  const int error = filter.load();
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace cleave::remote::server
