// Descriptors that somebody unknown sends: none is received, and nothing waits for what closing them takes.
#include "remote/server/front/unknown_peer.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/files/discard.h"
#include "remote/protocol/limits.h"
#include "remote/server/memory/shared_memory.h"
#include "remote/transport/descriptor_passing.h"
#include "tests/kit/eventually.h"
#include "tests/kit/lingering_socket.h"
#include "tests/kit/sanitizers.h"

namespace cleave::remote::server {
namespace {

std::ptrdiff_t count_in(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}
std::ptrdiff_t open_descriptors() { return count_in("/proc/self/fd"); }
// The test's own thread, and one of ThreadSanitizer's, which starts with a program's first other thread.
constexpr std::ptrdiff_t kMostThreads = kit::kThreadSanitizer ? 2 : 1;
bool no_thread_is_left() {
  return kit::eventually([] { return count_in("/proc/self/task") <= kMostThreads; });
}

Time soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

base::FileDescriptor memory(unsigned seals) {
  base::FileDescriptor made(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(made.get(), 4096), 0);
  EXPECT_EQ(::fcntl(made.get(), F_ADD_SEALS, seals), 0);
  return made;
}

class PassedDescriptors : public testing::Test {
 protected:
  PassedDescriptors() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    theirs_ = base::FileDescriptor(ends[0]);
    ours_ = base::FileDescriptor(ends[1]);
  }
  ~PassedDescriptors() override {
    sockets_.release();
    EXPECT_TRUE(no_thread_is_left());
  }

  // They are then in flight only.
  void send(const std::string& text, std::vector<base::FileDescriptor> descriptors) {
    std::vector<int> numbers;
    for (const base::FileDescriptor& each : descriptors) numbers.push_back(each.get());
    ASSERT_TRUE(send_with_descriptors(theirs_.get(), std::as_bytes(std::span(text)), numbers));
  }
  void send(const std::string& text, base::FileDescriptor one) {
    std::vector<base::FileDescriptor> all;
    all.push_back(std::move(one));
    send(text, std::move(all));
  }

  base::FileDescriptor lingering() { return base::FileDescriptor(sockets_.make()); }

  kit::LingeringSockets sockets_;
  base::FileDescriptor theirs_;
  base::FileDescriptor ours_;
};

std::string read_from(Stream& stream) {
  std::array<std::byte, 64> buffer;
  std::size_t size = 0;
  if (stream.read(buffer, size, soon()) != ReadStatus::data) return "closed";
  return {reinterpret_cast<const char*>(buffer.data()), size};
}

TEST_F(PassedDescriptors, OfUnknownPeersAreNotReceived) {
  base::FileDescriptor socket = lingering();
  base::FileDescriptor event(::eventfd(0, EFD_CLOEXEC));
  UnknownPeer peer(std::move(ours_));
  const auto before = open_descriptors();
  send("socket", std::move(socket));
  EXPECT_EQ(read_from(peer), "socket");
  send("event", std::move(event));
  EXPECT_EQ(read_from(peer), "event");
  send("none", std::vector<base::FileDescriptor>());
  EXPECT_EQ(read_from(peer), "none");
  EXPECT_EQ(open_descriptors(), before - 2) << "those that were sent are closed here";
  EXPECT_EQ(peer.left_in_socket(), 15U);
}

TEST_F(PassedDescriptors, BytesWithoutThemAreTaken) {
  UnknownPeer peer(std::move(ours_));
  send("plain", std::vector<base::FileDescriptor>());
  EXPECT_EQ(read_from(peer), "plain");
  EXPECT_EQ(peer.left_in_socket(), 0U);
  send("with", lingering());
  EXPECT_EQ(read_from(peer), "with");
  EXPECT_EQ(peer.left_in_socket(), 4U);
  theirs_.close();
  EXPECT_EQ(read_from(peer), "closed");
}

TEST_F(PassedDescriptors, OfUnknownPeersDelayNothing) {
  {
    UnknownPeer peer(std::move(ours_));
    for (int i = 0; i < 5; ++i) send("x", lingering());
    EXPECT_EQ(read_from(peer), "x");
  }
  EXPECT_TRUE(no_thread_is_left()) << "something lingers";
  char byte = 0;
  EXPECT_EQ(::recv(theirs_.get(), &byte, 1, 0), -1)
      << "the connection is closed, with what has not been read";
}

TEST_F(PassedDescriptors, AreDiscardedWithoutDelay) {
  std::vector<base::FileDescriptor> all;
  send("in flight", lingering());
  all.push_back(std::move(ours_));
  for (int i = 0; i < 3; ++i) all.push_back(lingering());
  discard(std::move(all));
  EXPECT_TRUE(no_thread_is_left()) << "something lingers";
}

// Each thread that closes has copies of what the others close.
TEST_F(PassedDescriptors, AreDiscardedByManyAtATime) {
  std::vector<std::vector<base::FileDescriptor>> connections(8);
  for (auto& of_thread : connections) {
    for (int i = 0; i < 32; ++i) {
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      theirs_ = base::FileDescriptor(ends[0]);
      send("in flight", lingering());
      of_thread.emplace_back(ends[1]);
    }
  }
  std::vector<std::thread> threads;
  for (auto& of_thread : connections) {
    threads.emplace_back([&of_thread] {
      for (base::FileDescriptor& each : of_thread) discard(std::move(each));
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(no_thread_is_left()) << "something lingers";
}

TEST_F(PassedDescriptors, MemoryIsTakenFromWhatWasLeft) {
  UnknownPeer peer(base::FileDescriptor(::dup(ours_.get())));
  send("hello", memory(F_SEAL_SHRINK));
  EXPECT_EQ(read_from(peer), "hello");
  send("more", std::vector<base::FileDescriptor>());
  peer.leave();
  std::unique_ptr<SharedMemory> mapped;
  ASSERT_TRUE(receive_memory(ours_.get(), peer.left_in_socket(), mapped));
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped->size(), 4096U);
  EXPECT_EQ(read_from(peer), "more");
}

// To read on would take an hour for those that linger.
TEST_F(PassedDescriptors, OtherThanOneOfMemoryAreRefused) {
  const auto is_refused = [&](std::vector<base::FileDescriptor> descriptors) {
    send("x", std::move(descriptors));
    std::unique_ptr<SharedMemory> mapped;
    return !receive_memory(ours_.get(), 1, mapped) && mapped == nullptr;
  };
  std::vector<base::FileDescriptor> sent;
  sent.push_back(lingering());
  EXPECT_TRUE(is_refused(std::move(sent)));
  discard(std::move(ours_));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  theirs_ = base::FileDescriptor(ends[0]);
  ours_ = base::FileDescriptor(ends[1]);
  sent.clear();
  sent.push_back(memory(F_SEAL_SHRINK));
  sent.push_back(lingering());
  EXPECT_TRUE(is_refused(std::move(sent)));
  discard(std::move(ours_));
}

TEST_F(PassedDescriptors, OfMemoryThatMayShrinkAreNotMapped) {
  send("x", memory(0));
  std::unique_ptr<SharedMemory> mapped;
  EXPECT_TRUE(receive_memory(ours_.get(), 1, mapped));
  EXPECT_EQ(mapped, nullptr);
}

}  // namespace
}  // namespace cleave::remote::server
