// Filters that a process puts itself under are noticed, those that it began with are not.
#include "base/threads/system_call_filter.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files/verified_descriptor.h"

namespace cleave::base {
namespace {

// One that allows everything.
bool add_filter() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{1, &allow};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

using Expect = std::function<void(bool)>;

// Filters last as long as a process does. Each expectation of the steps must hold.
void in_child(const std::function<void(const Expect&)>& steps) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int step = 0;
    steps([&](bool holds) {
      ++step;
      if (!holds) _exit(step);
    });
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

TEST(SystemCallFilter, IsNoticedIfItIsNew) {
  in_child([](const Expect& expect) {
    expect(!has_new_system_call_filter());  // nobody has looked yet
    remember_system_call_filters();
    expect(!has_new_system_call_filter());
    expect(add_filter());
    errno = E2BIG;
    expect(has_new_system_call_filter());
    expect(errno == E2BIG);
    remember_system_call_filters();  // as in a container
    expect(!has_new_system_call_filter());
    expect(add_filter());
    expect(has_new_system_call_filter());
  });
}

// From now on this call fails with EPERM.
bool forbid(unsigned call) {
  std::array<sock_filter, 4> filter{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{filter.size(), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A filter is no reason to give up what is ours; and to close what may be the program's it is none either.
TEST(SystemCallFilter, TakesNoDescriptorAway) {
  in_child([](const Expect& expect) {
    VerifiedDescriptor kept;
    VerifiedDescriptor closed;
    kept.open(open("/proc/self/comm", O_RDONLY));
    closed.open(open("/proc/self/comm", O_RDONLY));
    ::close(closed.get());
#ifdef SYS_newfstatat
    expect(forbid(SYS_newfstatat));
    expect(kept.is_valid());
    expect(!closed.is_valid());
#endif
#ifdef SYS_fstat
    expect(forbid(SYS_fstat));
    expect(kept.is_valid());
    const int number = kept.get();
    kept.close();
    expect(fcntl(number, F_GETFD) >= 0);
#endif
  });
}

}  // namespace
}  // namespace cleave::base
