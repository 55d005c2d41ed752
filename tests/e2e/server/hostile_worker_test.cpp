// Workers that a kernel has taken over: what they send to the supervisor and the front reaches nobody else.
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/files/discard.h"
#include "base/files/file_descriptor.h"
#include "remote/protocol/limits.h"
#include "remote/server/messages.h"
#include "tests/e2e/server/hostile_client.h"
#include "tests/kit/lingering_socket.h"

namespace cleave::remote {
namespace {

// A duplicate of a descriptor of a worker's, as a compromised worker would use it. Not open: the system refuses.
template <typename IsWanted>
base::FileDescriptor descriptor_of(pid_t worker, IsWanted is_wanted) {
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, worker, 0)));
  for (int number = STDERR_FILENO + 1; number < 32; ++number) {
    base::FileDescriptor copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    if (copy.is_open() && is_wanted(copy.get())) return copy;
  }
  return {};
}

bool is_control(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}
// Of what it reports to the supervisor.
bool is_reports(int descriptor) {
  struct stat status {};
  const int flags = ::fcntl(descriptor, F_GETFL);
  return ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) && (flags & O_DIRECT) != 0;
}

// What any worker reports, and may report again.
std::string taken() {
  namespace ipc = server::ipc;
  flatbuffers::FlatBufferBuilder builder;
  const auto report = ipc::CreateReport(builder, ipc::ReportKind::taken, builder.CreateString(""));
  builder.Finish(ipc::CreatePacket(builder, ipc::Body::Report, report.Union()));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

class HostileWorker : public HostileClient {
 protected:
  void SetUp() override {
    const std::vector<pid_t> workers = server_.workers();
    ASSERT_FALSE(workers.empty());
    control_ = descriptor_of(workers.front(), is_control);
    reports_ = descriptor_of(workers.front(), is_reports);
    if (!control_.is_open() || !reports_.is_open())
      GTEST_SKIP() << "a process's descriptors cannot be had here";
  }

  const std::unique_ptr<RawClient> client_ = ready();
  base::FileDescriptor control_;
  base::FileDescriptor reports_;
};

// Over every way that leads to the supervisor.
TEST_F(HostileWorker, DescriptorsDoNotReachTheSupervisor) {
  kit::LingeringSockets sockets;
  const std::string folder = "/proc/" + std::to_string(server_.process()) + "/fd";
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  const auto before = count();
  const std::string text = "c";
  for (int i = 0; i < 8; ++i) {
    std::vector<base::FileDescriptor> sent;
    std::vector<int> numbers;
    for (std::size_t each = 0; each < kMaxDescriptors; ++each) {
      sent.emplace_back(sockets.make());
      numbers.push_back(sent.back().get());
    }
    EXPECT_FALSE(send_with_descriptors(control_.get(), std::as_bytes(std::span(text)), numbers));
    discard(std::move(sent));
  }
  RawClient next(endpoint_);
  EXPECT_TRUE(next.begin());
  EXPECT_TRUE(kit::eventually([&] { return count() <= before + 6; })) << "some are held";
}

// Merged messages, and those of no kind.
TEST_F(HostileWorker, GarbageEndsItAlone) {
  const auto other = ready();
  ::fcntl(reports_.get(), F_SETFL, O_NONBLOCK);  // no packets any more
  const std::string much(60000, 'c');
  ::write(reports_.get(), much.data(), much.size());
  EXPECT_TRUE(server_.logs("what is no message")) << server_.log();
}

// A kernel that is native code can send what it likes. What it costs the supervisor must have a bound.
TEST_F(HostileWorker, FloodIsHeardSlowly) {
  const std::string report = taken();
  unsigned sent = 0;
  const Time until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < until && wait_for(reports_.get(), POLLOUT, until))
    sent += ::write(reports_.get(), report.data(), report.size()) > 0 ? 1 : 0;
  EXPECT_GT(sent, 128U) << "as many as any worker may send at once";
  EXPECT_LT(sent, 4000U);
}

// One that has to wait is heard as soon as it may, not when something else wakes the supervisor.
TEST_F(HostileWorker, FloodIsHeardSteadily) {
  const std::string report = taken();
  Time last = std::chrono::steady_clock::now();
  const Time until = last + std::chrono::seconds(5);
  Time::duration longest{0};
  while (last < until && wait_for(reports_.get(), POLLOUT, until)) {
    ASSERT_GT(::write(reports_.get(), report.data(), report.size()), 0);
    const Time now = std::chrono::steady_clock::now();
    longest = std::max(longest, now - last);
    last = now;
  }
  EXPECT_LT(longest, std::chrono::milliseconds(800));
}

}  // namespace
}  // namespace cleave::remote
