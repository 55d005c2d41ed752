// Works, puts itself under a filter that ends it at the first system call of a kind that it has not made before, works on, and ends.
// system_call_filter HOW FILE:
//
//   learn   writes the kinds of calls of the first half to FILE
//   known   allows those in FILE, on all threads
//   shut    of those, on its own thread, none that opens, connects, starts or removes anything
//   both    learns and allows within one process, which has a filter from its beginning, as in a container
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "host_program.h"

namespace {

constexpr unsigned kCalls = 1024;
std::array<std::atomic<bool>, kCalls> made;

// Of memory, time and threads that run already; and what a program prints and ends with.
constexpr int kAlways[] = {SYS_futex,          SYS_mmap,
                           SYS_munmap,         SYS_mprotect,
                           SYS_madvise,        SYS_brk,
                           SYS_mremap,         SYS_rt_sigreturn,
                           SYS_rt_sigprocmask, SYS_sched_yield,
                           SYS_nanosleep,      SYS_clock_nanosleep,
                           SYS_clock_gettime,  SYS_restart_syscall,
                           SYS_write,          SYS_exit,
                           SYS_exit_group};
constexpr int kOpening[] = {
    SYS_openat,   SYS_openat2,  SYS_socket,    SYS_connect,      SYS_bind,
    SYS_listen,   SYS_accept4,  SYS_clone,     SYS_clone3,       SYS_execve,
    SYS_execveat, SYS_unlinkat, SYS_renameat2, SYS_memfd_create, SYS_mkdirat,
#ifdef SYS_open
    SYS_open,     SYS_creat,    SYS_fork,      SYS_vfork,        SYS_unlink,
    SYS_rename,   SYS_mkdir,    SYS_accept,
#endif
};

int install(const std::vector<sock_filter>& filter, unsigned flags) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

// Notes every call of this thread, and those that it starts from now on.
bool learn() {
  std::atomic<int> listener{-2};
  std::thread([&listener] {
    while (listener.load() == -2) std::this_thread::yield();
    const int from = listener.load();
    seccomp_notif call{};
    while (from >= 0) {
      std::memset(&call, 0, sizeof call);
      if (ioctl(from, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
        if (errno == EINTR || errno == ENOENT) continue;
        return;
      }
      if (call.data.nr >= 0 && call.data.nr < static_cast<int>(kCalls))
        made[static_cast<unsigned>(call.data.nr)] = true;
      seccomp_notif_resp answer{};
      answer.id = call.id;
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ioctl(from, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
  }).detach();
  listener = install({BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)}, SECCOMP_FILTER_FLAG_NEW_LISTENER);
  return listener.load() >= 0;
}

bool enforce(unsigned flags) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (unsigned number = 0; number < kCalls; ++number) {
    if (!made[number]) continue;
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  return install(filter, flags) == 0;
}

void nothing() {}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string_view how = arguments[1];
  const bool learns = how == "learn" || how == "both";
  if (learns && !learn()) return std::perror("a filter that notes calls"), 3;
  HostProgram program;
  for (int round = 0; round < 3; ++round) program.work(10, nothing);
  if (how == "learn") {
    std::ofstream file(arguments[2]);
    for (unsigned number = 0; number < kCalls; ++number) {
      if (made[number]) file << number << '\n';
    }
  } else if (how != "both") {
    std::ifstream file(arguments[2]);
    for (unsigned number = 0; file >> number;) made[number % kCalls] = true;
  }
  for (const int number : kAlways) made[static_cast<unsigned>(number)] = true;
  if (how == "shut") {
    for (const int number : kOpening) made[static_cast<unsigned>(number)] = false;
  }
  if (how != "learn" && !enforce(how == "known" ? SECCOMP_FILTER_FLAG_TSYNC : 0))
    return std::perror("a filter"), 3;
  for (int round = 0; round < 3; ++round) program.work(10, nothing);
  std::printf("error %d wrong %d\n", HostProgram::error(), program.wrong());
  std::fflush(stdout);
  return 0;
}
