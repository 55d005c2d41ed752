// Addresses, streams and frames on them, over sockets of the test's own.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "daemon/listening_socket.h"
#include "remote/transport/connect.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/endpoint.h"
#include "remote/transport/frames.h"
#include "remote/transport/tls.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kPatience{10};

TEST(Endpoint, TextRoundTrips) {
  for (const std::string text : {"tcp:127.0.0.1:27461", "tls:gpu.example:1", "unix:/run/x.sock", "unix:@name",
                                 "vsock:3:99", "tcp:[::1]:5", "tls:[fe80::1]:27461"}) {
    const auto endpoint = read_endpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(as_text(*endpoint), text);
    EXPECT_EQ(endpoint->tls, text.starts_with("tls"));
  }
}

TEST(Endpoint, MissingPortIsTheDefault) {
  EXPECT_EQ(as_text(read_endpoint("tcp:gpu").value()), "tcp:gpu:27461");
  EXPECT_EQ(as_text(read_endpoint("tls:[::1]").value()), "tls:[::1]:27461");
}

TEST(Endpoint, MalformedTextIsRejected) {
  for (const char* text :
       {"", "tcp", "tcp:", "tls:", "ssh:host:1", "tcp:host:70000", "tls:host:port", "unix:", "127.0.0.1:5"}) {
    EXPECT_FALSE(read_endpoint(text)) << text;
  }
}

TEST(Endpoint, LocalEndpointsArePrivate) {
  for (const char* text : {"unix:/x", "vsock:2:1", "tcp:127.0.0.1:1", "tcp:[::1]:1", "tcp:localhost:1"}) {
    EXPECT_TRUE(is_private(*read_endpoint(text))) << text;
  }
  for (const char* text : {"tcp:0.0.0.0:1", "tcp:192.168.0.1:1", "tls:gpu:1", "tcp:[::]:1"}) {
    EXPECT_FALSE(is_private(*read_endpoint(text))) << text;
  }
}

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    left = make_socket_stream(ends[0]);
    right = make_socket_stream(ends[1]);
  }
  std::unique_ptr<Stream> left;
  std::unique_ptr<Stream> right;
};

TEST(Stream, ReadRespectsItsTimeout) {
  const Pair pair;
  std::array<std::byte, 8> buffer;
  std::size_t size = 0;
  const auto begin = steady_clock::now();
  EXPECT_EQ(pair.left->read(buffer, size, begin + milliseconds(50)), ReadStatus::timeout);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(50));
  EXPECT_LT(steady_clock::now() - begin, seconds(5));
}

void make_accessible(int, siginfo_t* fault, void*) {
  const auto page = reinterpret_cast<std::uintptr_t>(fault->si_addr) & ~std::uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
}

// As under the write barrier of a garbage collector: a driver's copy raises faults that the program's handler resolves.
TEST(Stream, FaultsOfTheProgramsMemoryAreRaised) {
  constexpr std::size_t kSize = 16384;
  const Pair pair;
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = &make_accessible;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGSEGV, &action, &before), 0);
  std::array<iovec, 1> parts{{{memory + 100, kSize - 200}}};
  std::fill_n(memory, kSize, std::byte{7});
  for (const int protection : {PROT_NONE, PROT_READ}) {
    ASSERT_EQ(::mprotect(memory, kSize, PROT_NONE), 0);
    parts.front() = {memory + 100, kSize - 200};
    EXPECT_TRUE(pair.left->write(parts, kPatience));
    std::fill_n(memory, kSize, std::byte{});
    ASSERT_EQ(::mprotect(memory, kSize, protection), 0);
    std::size_t size = 0;
    for (std::size_t at = 100; at < kSize - 100; at += size) {
      ASSERT_EQ(pair.right->read({memory + at, kSize - 100 - at}, size, steady_clock::now() + kPatience),
                ReadStatus::data);
    }
    EXPECT_TRUE(
        std::all_of(memory + 100, memory + kSize - 100, [](std::byte one) { return one == std::byte{7}; }));
    EXPECT_EQ(memory[99], std::byte{});
    EXPECT_EQ(memory[kSize - 100], std::byte{});
    std::fill_n(memory, kSize, std::byte{7});
  }
  ::sigaction(SIGSEGV, &before, nullptr);
  ::munmap(memory, kSize);
}

TEST(Stream, WriteToAStalledReaderTimesOut) {
  const Pair pair;
  std::vector<std::byte> much(64U << 20U);
  iovec part{much.data(), much.size()};
  EXPECT_FALSE(pair.left->write(std::span(&part, 1), milliseconds(50)));
}

TEST(Stream, ShutdownWakesTheReader) {
  const Pair pair;
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(30));
    pair.left->shutdown();
  });
  std::array<std::byte, 8> buffer;
  std::size_t size = 0;
  EXPECT_EQ(pair.left->read(buffer, size, steady_clock::now() + kPatience), ReadStatus::closed);
  later.join();
}

TEST(Stream, PartsOfAllSizesArriveInOrder) {
  const Pair pair;
  std::vector<std::uint8_t> sent(3U << 20U);
  std::iota(sent.begin(), sent.end(), std::uint8_t{0});
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (std::size_t size = 0; at < sent.size(); size = (size * 7 + 1) % 65'536) {
    const std::size_t now = std::min(size, sent.size() - at);
    parts.push_back({sent.data() + at, now});
    at += now;
  }
  std::vector<std::uint8_t> got(sent.size());
  std::thread reader([&] {
    std::size_t done = 0;
    while (done < got.size()) {
      std::size_t size = 0;
      auto rest = std::as_writable_bytes(std::span(got)).subspan(done);
      if (pair.right->read(rest, size, steady_clock::now() + kPatience) != ReadStatus::data) return;
      done += size;
    }
  });
  EXPECT_TRUE(pair.left->write(parts, kPatience));
  reader.join();
  EXPECT_EQ(got, sent);
}

TEST(Frames, PayloadsOfAllSizesPass) {
  const Pair pair;
  const std::vector<std::byte> message(100, std::byte{7});
  std::vector<std::byte> large(1U << 20U, std::byte{9});
  const std::vector<std::byte> small(5, std::byte{3});
  std::thread writer([&] {
    const std::array<std::span<const std::byte>, 2> payloads{large, small};
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(write_frame(*pair.left, FrameKind::commands, message, payloads, kPatience));
  });
  FrameReader input(*pair.right, kPatience);
  for (int i = 0; i < 3; ++i) {
    FrameHeader header;
    ASSERT_EQ(input.next(header, steady_clock::now() + kPatience), ReadStatus::data);
    EXPECT_EQ(header, (FrameHeader{FrameKind::commands, 100, large.size() + small.size()}));
    EXPECT_TRUE(std::equal(input.message().begin(), input.message().end(), message.begin(), message.end()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(input.message().data()) % 8, 0U);
    std::vector<std::byte> got(large.size());
    ASSERT_TRUE(input.read_payload(got));
    EXPECT_EQ(got, large);
    if (i == 1) {
      ASSERT_TRUE(input.skip_payload(small.size()));
    } else {
      got.resize(small.size());
      ASSERT_TRUE(input.read_payload(got));
      EXPECT_EQ(got, small);
    }
  }
  writer.join();
  EXPECT_FALSE(input.has_more());
}

TEST(Frames, PolledFrameIsRead) {
  Pair pair;
  FrameReader input(*pair.right, kPatience);
  input.spin();  // nothing arrives
  const std::vector<std::byte> message(100, std::byte{7});
  ASSERT_TRUE(write_frame(*pair.left, FrameKind::commands, message, {}, kPatience));
  input.spin();
  input.spin();
  FrameHeader header;
  ASSERT_EQ(input.next(header, steady_clock::now() + kPatience), ReadStatus::data);
  EXPECT_TRUE(std::equal(input.message().begin(), input.message().end(), message.begin(), message.end()));
  pair.left.reset();
  input.spin();
  EXPECT_EQ(input.next(header, steady_clock::now() + kPatience), ReadStatus::closed);
}

// How often a spin of no duration polls, after `times` unsuccessful spins.
unsigned looks_in_vain(BriefSpin& spin, unsigned times) {
  unsigned looks = 0;
  for (unsigned i = 0; i < times; ++i) {
    EXPECT_FALSE(spin.until([&] { return ++looks == 0; }));
  }
  return looks;
}

TEST(BriefSpin, StopsWhenUselessAndResumes) {
  if (std::thread::hardware_concurrency() == 1) GTEST_SKIP() << "there is no polling on one processor";
  BriefSpin spin{Duration::zero()};
  EXPECT_TRUE(spin.until([] { return true; }));
  EXPECT_LT(looks_in_vain(spin, 1000), 100U);
  unsigned tries = 1;
  while (!spin.until([] { return true; })) ++tries;
  EXPECT_LT(tries, 100U);
  EXPECT_TRUE(spin.until([] { return true; }));
}

TEST(BriefSpin, EndsWhenOtherWorkArrives) {
  BriefSpin spin{std::chrono::hours(1)};
  EXPECT_FALSE(spin.until([] { return false; }, [] { return true; }));
}

TEST(Frames, TruncatedFrameEndsTheConnection) {
  const Pair pair;
  const HeaderBytes header = encode({FrameKind::commands, 100, 0});
  iovec part{const_cast<std::byte*>(header.data()), header.size()};
  ASSERT_TRUE(pair.left->write(std::span(&part, 1), kPatience));
  FrameReader input(*pair.right, milliseconds(50));
  FrameHeader got;
  EXPECT_EQ(input.next(got, steady_clock::now() + kPatience), ReadStatus::closed);
}

TEST(Frames, SlowFrameTimesOut) {
  const Pair pair;
  const std::vector<std::byte> message(4000);
  std::atomic<bool> is_over{false};
  std::thread slow([&] {
    const HeaderBytes header = encode({FrameKind::commands, static_cast<std::uint32_t>(message.size()), 0});
    iovec part{const_cast<std::byte*>(header.data()), header.size()};
    pair.left->write(std::span(&part, 1), kPatience);
    for (std::size_t at = 0; at < message.size() && !is_over; ++at) {
      part = {const_cast<std::byte*>(message.data()) + at, 1};
      pair.left->write(std::span(&part, 1), kPatience);
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  FrameReader input(*pair.right, kPatience);
  const Time until = steady_clock::now() + milliseconds(200);
  input.set_deadline(until);
  FrameHeader got;
  EXPECT_EQ(input.next(got, until), ReadStatus::closed);
  is_over = true;
  slow.join();
}

TEST(Frames, OversizedMessageEndsTheConnection) {
  const Pair pair;
  const std::vector<std::byte> message(kMaxHelloSize + 1);
  ASSERT_TRUE(write_frame(*pair.left, FrameKind::commands, message, {}, kPatience));
  FrameReader input(*pair.right, kPatience);
  FrameHeader got;
  EXPECT_EQ(input.next(got, steady_clock::now() + kPatience, kMaxHelloSize), ReadStatus::closed);
}

TEST(Descriptors, ArriveWithTheFirstByteAndExtrasAreClosed) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE(send_with_descriptor(ends[0], bytes, STDERR_FILENO));
  std::array<std::byte, 8> got;
  int descriptor = -1;
  EXPECT_EQ(receive_with_descriptor(ends[1], got, descriptor, 0), 3);
  EXPECT_GE(descriptor, 0);
  ::close(descriptor);
  ASSERT_EQ(::send(ends[0], bytes.data(), 1, 0), 1);
  EXPECT_EQ(receive_with_descriptor(ends[1], got, descriptor, 0), 1);
  EXPECT_EQ(descriptor, -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

// OpenSSL would wait for the writer of a pipe.
TEST(Tls, FilesThatAreNoneAreNamed) {
  const kit::TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const TlsFiles all[] = {
      {pipe, "", ""}, {"", pipe, ""}, {"", "/dev/null", pipe}, {"", folder.write("x", "x"), pipe}};
  for (const TlsFiles& files : all) {
    std::string problem;
    EXPECT_EQ(TlsServer::make(files, problem), nullptr);
    EXPECT_NE(problem.find(", not a regular file: name a PEM file"), std::string::npos) << problem;
  }
}

TEST(Connecting, FailureGivesTheReason) {
  const Time soon = steady_clock::now() + seconds(2);
  EXPECT_EQ(connect_to(*read_endpoint("unix:/nowhere/server.sock"), {}, soon).problem, "no server there");
  daemon::ListeningSocket listener = daemon::listen_on(read_endpoint("tcp:127.0.0.1:0")->address, {});
  const Endpoint endpoint{.address = daemon::bound_address(listener.socket.get())};
  const ConnectResult connected = connect_to(endpoint, {}, soon);
  EXPECT_TRUE(connected.stream);
  // A server that does not answer a TLS handshake delays no other connection.
  Endpoint secure = endpoint;
  secure.tls = true;
  const ConnectResult refused = connect_to(secure, {}, steady_clock::now() + milliseconds(100));
  EXPECT_FALSE(refused.stream);
  EXPECT_EQ(refused.problem, "TLS: no answer in time");
  listener = {};
  EXPECT_EQ(connect_to(endpoint, {}, soon).problem, "no server there");
}

}  // namespace
}  // namespace cleave::remote
