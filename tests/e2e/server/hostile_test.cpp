// Clients that lie: about lengths, ids, kinds, sizes and states. The server refuses them, or answers with
// OpenCL's errors; it never crashes, never hangs, and whoever comes next is served.
#include <numeric>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "remote/protocol/limits.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::uint64_t kSize = 4096;

class Hostile : public testing::Test {
 protected:
  Hostile() : server_({"--max-clients", "64"}), endpoint_(server_.endpoint()) {}
  ~Hostile() override {
    RawClient next(endpoint_);
    EXPECT_TRUE(next.begin());
    EXPECT_EQ(server_.text().find("crashed"), std::string::npos) << server_.text();
  }

  std::unique_ptr<RawClient> ready() {
    auto client = std::make_unique<RawClient>(endpoint_);
    EXPECT_TRUE(client->begin());
    auto& b = client->builder;
    client->add({}, wire::CreateCreateContext(b, kContext, b.CreateVector<std::uint64_t>({client->device})));
    client->add({}, wire::CreateCreateQueue(b, kQueue, kContext, client->device,
                                            b.CreateVector<std::uint64_t>({0}), true));
    client->add({}, wire::CreateCreateBuffer(b, kBuffer, kContext, CL_MEM_READ_WRITE, kSize));
    return client;
  }

  // What `spoil` adds is answered by the end of the connection.
  template <typename Spoil>
  void is_violation(const char* what, Spoil spoil) {
    const auto client = ready();
    spoil(*client);
    client->send();
    EXPECT_TRUE(client->is_sent_away()) << what;
    EXPECT_FALSE(client->heard.goodbye.empty()) << what;
  }

  ServerProcess server_;
  const Endpoint endpoint_;
};

TEST_F(Hostile, BytesThatAreNoHelloAreRefused) {
  const std::vector<std::string> all{
      std::string("GET / HTTP/1.1\r\nHost: there\r\n\r\n"),
      std::string(64, '\0'),
      std::string(64, '\xff'),
      std::string("\xff\xff\xff\xff\x01\0\0\0\0\0\0\0\0\0\0\0", 16),                  // a message of 4 GiB
      std::string("\x00\x10\x00\x00\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16),  // a payload of 2^64
      std::string("\x00\x00\x00\x00\x01\0\0\0\0\0\0\0\0\0\0\0", 16),                  // an empty message
      std::string("\x10\x00\x00\x00\x03\0\0\0\0\0\0\0\0\0\0\0", 16) +
          std::string(16, '\1'),  // commands before the Hello
      std::string("\x10\x00\x00\x00\x01\0\0\0\0\0\0\0\0\0\0\0", 16) + std::string(16, '\xff'),
      std::string("\x08\x00\x00\x00\x01\0\x01\0\0\0\0\0\0\0\0\0", 16) +
          std::string(8, '\0'),  // reserved bits
      std::string("\x01", 1),
  };
  for (const std::string& bytes : all) {
    RawClient client(endpoint_);
    client.send_bytes(bytes.data(), bytes.size());
    ::shutdown(client.stream->descriptor(), SHUT_WR);
    EXPECT_TRUE(client.is_hung_up_on());
  }
}

TEST_F(Hostile, WhoSaysNothingIsSentAway) {
  RawClient client(endpoint_);
  EXPECT_TRUE(client.is_sent_away());
  EXPECT_TRUE(server_.says("refused: it said nothing"));
}

// Each byte of a good conversation is changed in turn, to some other value.
TEST_F(Hostile, SpoiltBytesNeverCrashAWorker) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("spoilt");
  builder.Finish(
      wire::CreateHello(builder, kVersion, kOldestVersion, 0, wire::ByteOrder::little, 0, name, 0, false));
  std::string hello(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const auto header = encode({FrameKind::hello, static_cast<std::uint32_t>(hello.size()), 0});
  hello.insert(0, reinterpret_cast<const char*>(header.data()), header.size());
  for (std::size_t at = 0; at < hello.size(); at += 3) {
    std::string spoilt = hello;
    spoilt[at] = static_cast<char>(spoilt[at] ^ 0x41);
    RawClient client(endpoint_);
    client.send_bytes(spoilt.data(), spoilt.size());
    ::shutdown(client.stream->descriptor(), SHUT_WR);
    EXPECT_TRUE(client.is_hung_up_on());
  }
}

TEST_F(Hostile, ViolationsEndTheConnection) {
  is_violation("an id of the server's", [](RawClient& client) {
    client.add(
        {}, wire::CreateCreateBuffer(client.builder, kFirstServerId + 77, kContext, CL_MEM_READ_WRITE, 64));
  });
  is_violation("the id 0", [](RawClient& client) {
    client.add({}, wire::CreateCreateBuffer(client.builder, 0, kContext, CL_MEM_READ_WRITE, 64));
  });
  is_violation("an id in use", [](RawClient& client) {
    client.add({}, wire::CreateCreateBuffer(client.builder, kBuffer, kContext, CL_MEM_READ_WRITE, 64));
  });
  is_violation("an event's id in use", [](RawClient& client) {
    client.add({.queue = kQueue, .event = kBuffer}, wire::CreateMarker(client.builder));
  });
  is_violation("an event's id of the server's", [](RawClient& client) {
    client.add({.queue = kQueue, .event = kFirstServerId}, wire::CreateMarker(client.builder));
  });
  is_violation("read without a request for an answer", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, 64));
  });
  is_violation("FinishQueue without a request for an answer", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateFinishQueue(client.builder));
  });
  is_violation("a write without its payload", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateWriteBuffer(client.builder, kBuffer, 0, 64));
  });
  is_violation("no shared memory was agreed on", [](RawClient& client) {
    client.add({.queue = kQueue, .shared = wire::Shared(0, 64)},
               wire::CreateWriteBuffer(client.builder, kBuffer, 0, 64));
  });
  is_violation("queue in a message that takes none", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateCreateUserEvent(client.builder, 50, kContext));
  });
}

TEST_F(Hostile, PayloadsThatDoNotAddUpEndTheConnection) {
  const auto client = ready();
  const std::vector<std::byte> data(64);
  client->add({.queue = kQueue, .payload = 1U << 20U},
              wire::CreateWriteBuffer(client->builder, kBuffer, 0, 64));
  client->send({data});
  EXPECT_TRUE(client->is_sent_away());
}

TEST_F(Hostile, TooManyUnfinishedCommandsEndTheConnection) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({}, wire::CreateCreateUserEvent(b, 30, kContext));
  client->add({.queue = kQueue, .waits = {30}}, wire::CreateMarker(b));
  bool sent = client->send();
  for (int frame = 0; frame < 200 && sent; ++frame) {
    for (int i = 0; i < 1000; ++i) client->add({.queue = kQueue}, wire::CreateMarker(b));
    sent = client->send();
  }
  EXPECT_TRUE(client->is_sent_away());
  EXPECT_TRUE(server_.says("too many commands"));
}

// Whatever is said of objects that are not there or of another kind is an error of OpenCL's.
TEST_F(Hostile, WrongHandlesGetTheErrorOfTheirKind) {
  const auto client = ready();
  auto& b = client->builder;
  std::uint32_t request = 0;
  std::map<std::uint32_t, int> expected;
  const auto expect = [&](int error, std::uint64_t queue, auto body) {
    expected[++request] = error;
    client->add({.request = request, .queue = queue}, body);
  };
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{99}, kFirstServerId + 99, UINT64_MAX}) {
    expect(CL_INVALID_COMMAND_QUEUE, wrong == 0 ? kBuffer : wrong, wire::CreateMarker(b));
    expect(CL_INVALID_MEM_OBJECT, kQueue, wire::CreateReadBuffer(b, wrong, 0, 64));
    expect(CL_INVALID_MEM_OBJECT, kQueue, wire::CreateCopyBuffer(b, kBuffer, wrong, 0, 0, 64));
    expect(CL_INVALID_KERNEL, kQueue, wire::CreateNDRange(b, wrong, 1));
    expect(CL_INVALID_CONTEXT, 0, wire::CreateCreateUserEvent(b, 500 + request, wrong));
    expect(CL_INVALID_PROGRAM, 0, wire::CreateBuildProgram(b, wrong));
    expect(CL_INVALID_KERNEL, 0, wire::CreateSetKernelArg(b, wrong, 0, 8, wire::Argument::local));
    expect(CL_INVALID_EVENT, 0, wire::CreateSetUserEventStatus(b, wrong, 0));
    expect(CL_INVALID_DEVICE, 0,
           wire::CreateCreateContext(b, 600 + request, b.CreateVector<std::uint64_t>({wrong})));
  }
  for (const std::uint64_t other : {kContext, kQueue}) {
    expect(CL_INVALID_MEM_OBJECT, kQueue, wire::CreateReadBuffer(b, other, 0, 64));
    expect(CL_INVALID_KERNEL, kQueue, wire::CreateNDRange(b, other, 1));
    expect(CL_INVALID_PROGRAM, 0, wire::CreateCreateKernel(b, 700 + request, other, b.CreateString("k")));
  }
  ASSERT_TRUE(client->send());
  ASSERT_TRUE(client->listen_until([&] { return client->heard.answers.size() == expected.size(); }));
  EXPECT_EQ(client->heard.answers, expected);
}

TEST_F(Hostile, RangesBeyondABufferAreRefused) {
  const auto client = ready();
  auto& b = client->builder;
  std::uint32_t request = 0;
  const auto size = [](std::uint64_t x, std::uint64_t y, std::uint64_t z) { return wire::Size3(x, y, z); };
  const wire::Size3 zero = size(0, 0, 0);
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, kSize + 1},
                                                            {kSize, 1},
                                                            {UINT64_MAX, 2},
                                                            {1, UINT64_MAX},
                                                            {UINT64_MAX - 1, UINT64_MAX - 1},
                                                            {0, 0}}) {
    client->add({.request = ++request, .queue = kQueue}, wire::CreateReadBuffer(b, kBuffer, offset, length));
    client->add({.request = ++request, .queue = kQueue},
                wire::CreateCopyBuffer(b, kBuffer, kBuffer, offset, 0, length));
  }
  for (const wire::Size3& region :
       {size(UINT64_MAX, 2, 2), size(1U << 20U, 1U << 20U, 1U << 20U), size(kSize, 2, 1), zero}) {
    client->add({.request = ++request, .queue = kQueue},
                wire::CreateReadBufferRect(b, kBuffer, &zero, &region, 0, 0));
  }
  ASSERT_TRUE(client->send());
  ASSERT_TRUE(client->listen_until([&] { return client->heard.answers.size() == request; }));
  for (const auto& [number, error] : client->heard.answers) EXPECT_NE(error, CL_SUCCESS) << number;
}

TEST_F(Hostile, ArgumentsThatPretendToBeHandlesAreRefused) {
  const auto client = ready();
  auto& b = client->builder;
  const std::string_view source(
      "kernel void k(global int* a, int n, sampler_t s, local int* l) { a[0] = n; }");
  client->add({.payload = source.size()}, wire::CreateCreateProgramWithSource(b, 10, kContext));
  // Without this PoCL does not say what its arguments are, and takes for a handle what it is given.
  client->add({.request = 1}, wire::CreateBuildProgram(b, 10, 0, b.CreateString("-cl-kernel-arg-info")));
  client->send({std::as_bytes(std::span(source))});
  ASSERT_TRUE(client->await_answer(1));
  client->add({.request = 2}, wire::CreateCreateKernel(b, 11, 10, b.CreateString("k")));
  const std::vector<std::uint8_t> pointer(8, 0x41);
  const auto set = [&](std::uint32_t request, std::uint32_t index, wire::Argument kind, std::uint64_t object,
                       std::size_t size) {
    const auto value = b.CreateVector(pointer.data(), std::min<std::size_t>(size, 8));
    client->add({.request = request}, wire::CreateSetKernelArg(b, 11, index, size, kind, object, value));
  };
  set(3, 0, wire::Argument::bytes, 0, 8);         // a pointer for a buffer
  set(4, 2, wire::Argument::bytes, 0, 8);         // and for a sampler
  set(5, 1, wire::Argument::object, kBuffer, 8);  // a handle as a number
  set(6, 0, wire::Argument::object, kQueue, 8);
  set(7, 0, wire::Argument::svm, 0x4141414141, 8);
  set(8, 99, wire::Argument::bytes, 0, 4);
  set(9, 3, wire::Argument::local, 0, UINT64_MAX / 2);
  client->send();
  ASSERT_TRUE(client->await_answer(9)) << client->heard.goodbye << server_.text();
  EXPECT_EQ(client->heard.answers[2], CL_SUCCESS);
  for (std::uint32_t request = 3; request < 9; ++request)
    EXPECT_NE(client->heard.answers[request], CL_SUCCESS) << request;
}

// What is sent along with a build stays where the server puts it.
TEST_F(Hostile, IncludedFilesThatLieElsewhereEndTheConnection) {
  const auto build = [](RawClient& client, std::vector<std::string> names, std::vector<std::uint64_t> sizes,
                        std::uint64_t payload) {
    auto& b = client.builder;
    const auto included = wire::CreateIncluded(b, b.CreateVectorOfStrings(names), b.CreateVector(sizes), 0);
    client.add({.payload = payload}, wire::CreateBuildProgram(b, 10, 0, 0, included));
  };
  const auto is_refused = [&](const std::string& what, const std::vector<std::string>& names,
                              const std::vector<std::uint64_t>& sizes, std::uint64_t payload) {
    const auto client = ready();
    const std::string_view source("kernel void k() {}");
    client->add({.payload = source.size()},
                wire::CreateCreateProgramWithSource(client->builder, 10, kContext));
    build(*client, names, sizes, payload);
    const std::vector<std::byte> text(payload);
    client->send({std::as_bytes(std::span(source)), text});
    EXPECT_TRUE(client->is_sent_away()) << what;
    EXPECT_FALSE(client->heard.goodbye.empty()) << what;
  };
  for (const std::string name : {"x.h", "../x.h", "/../x.h", "/a/../../x.h", "/a/..", "", "/..", "/a/../.."})
    is_refused(name, {name}, {4}, 4);
  is_refused("a zero in a name", {std::string("/a\0/../../b", 11)}, {4}, 4);
  is_refused("a long name", {"/" + std::string(kMaxIncludePath, 'x')}, {4}, 4);
  is_refused("fewer bytes than sizes", {"/a"}, {5}, 4);
  is_refused("more bytes than sizes", {"/a"}, {3}, 4);
  is_refused("sizes that wrap around", {"/a", "/b"}, {UINT64_MAX, 5}, 4);
  is_refused("names without sizes", {"/a", "/b"}, {4}, 4);
  is_refused("too many", std::vector<std::string>(kMaxIncludes + 1, "/a"),
             std::vector<std::uint64_t>(kMaxIncludes + 1, 0), 0);
}

TEST_F(Hostile, IncludedFilesThatContradictEachOtherAreLeftOut) {
  const auto client = ready();
  auto& b = client->builder;
  const std::string_view source("#include <x.h>\nkernel void k() {}");
  const std::string_view text("12345678");
  client->add({.payload = source.size()}, wire::CreateCreateProgramWithSource(b, 10, kContext));
  const auto names = b.CreateVectorOfStrings(
      std::vector<std::string>{"/a", "/a/b", "/c/", "/c", "/" + std::string(300, 'x'), "/a/../a/./x.h"});
  const auto included = wire::CreateIncluded(
      b, names, b.CreateVector<std::uint64_t>({1, 1, 0, 1, 1, 4}),
      b.CreateVectorOfStrings(std::vector<std::string>{"-I ", "/a -I ", "", "/../.. -I ", "/c"}));
  client->add({.request = 1, .payload = text.size()}, wire::CreateBuildProgram(b, 10, 0, 0, included));
  client->send({std::as_bytes(std::span(source)), std::as_bytes(std::span(text))});
  ASSERT_TRUE(client->await_answer(1)) << client->heard.goodbye;
  EXPECT_EQ(client->heard.answers[1], CL_BUILD_PROGRAM_FAILURE);
}

// A client knows addresses of the server's, and no others are any good to it.
TEST_F(Hostile, AddressesAreOnlyThoseOfTheClientsOwnMemory) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({.request = 1}, wire::CreateSvmAlloc(b, kContext, CL_MEM_READ_WRITE, kSize));
  client->send();
  ASSERT_TRUE(client->await_answer(1));
  ASSERT_EQ(client->heard.answers[1], CL_SUCCESS);
  const std::uint64_t block = client->heard.values[1];
  std::uint32_t request = 1;
  const auto expect_refused = [&](std::uint64_t address, std::uint64_t size) {
    client->add({.request = ++request, .queue = kQueue}, wire::CreateSvmRead(b, address, size));
    client->add({.request = ++request, .queue = kQueue}, wire::CreateSvmCopy(b, address, block, size));
    client->add({.request = ++request, .queue = kQueue}, wire::CreateSvmCopy(b, block, address, size));
    client->add({.request = ++request, .queue = kQueue},
                wire::CreateSvmFill(b, address, b.CreateVector<std::uint8_t>({1}), size));
    client->add({.request = ++request, .queue = kQueue},
                wire::CreateSvmMigrate(b, b.CreateVector<std::uint64_t>({address}),
                                       b.CreateVector<std::uint64_t>({size})));
    ++request;
    client->add({.request = request},
                wire::CreateCreateBuffer(b, 100 + request, kContext, CL_MEM_READ_WRITE, size, 0, address));
  };
  for (const std::uint64_t address :
       {std::uint64_t{1}, std::uint64_t{0x1000}, block - 1, block + kSize + 1, UINT64_MAX})
    expect_refused(address, 64);
  for (const std::uint64_t size : {kSize + 1, UINT64_MAX, UINT64_MAX - block, UINT64_MAX - block + 2})
    expect_refused(block, size);
  expect_refused(block + 1, kSize);
  const std::uint32_t last = request;
  // What cannot be freed, since there is no such queue, is still there; what has been freed is not.
  const auto twice = [&] { return b.CreateVector<std::uint64_t>({block, block, 0, UINT64_MAX}); };
  client->add({.request = last + 1, .queue = 99}, wire::CreateSvmFree(b, twice()));
  client->add({.request = last + 2, .queue = kQueue}, wire::CreateSvmRead(b, block, kSize));
  client->add({.request = last + 3, .queue = kQueue}, wire::CreateSvmFree(b, twice()));
  client->add({.request = last + 4, .queue = kQueue}, wire::CreateSvmRead(b, block, 1));
  client->add({.request = last + 5}, wire::CreateSvmFree(b, twice()));
  client->send();
  ASSERT_TRUE(client->listen_until([&] { return client->heard.answers.size() == last + 5; }));
  for (std::uint32_t i = 2; i <= last; ++i) EXPECT_NE(client->heard.answers[i], CL_SUCCESS) << i;
  EXPECT_EQ(client->heard.answers[last + 1], CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(client->heard.answers[last + 2], CL_SUCCESS);
  EXPECT_EQ(client->heard.answers[last + 3], CL_SUCCESS);
  EXPECT_EQ(client->heard.answers[last + 4], CL_INVALID_VALUE);
  EXPECT_EQ(client->heard.answers[last + 5], CL_SUCCESS);
  is_violation("payload for a buffer over shared virtual memory", [&](RawClient& other) {
    auto& o = other.builder;
    other.add({.payload = 4}, wire::CreateCreateBuffer(o, 50, kContext, CL_MEM_READ_WRITE, 4, 0, block));
  });
}

TEST_F(Hostile, MemoryThatIsNotFreedIsStillCounted) {
  ServerProcess server({"--memory-per-client", "1M"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  auto& b = client.builder;
  client.add({}, wire::CreateCreateContext(b, kContext, b.CreateVector<std::uint64_t>({client.device})));
  for (std::uint32_t request = 1; request <= 3; ++request) {
    client.add({.request = request}, wire::CreateSvmAlloc(b, kContext, CL_MEM_READ_WRITE, 400U << 10U));
    client.send();
    ASSERT_TRUE(client.await_answer(request));
    const std::uint64_t address = client.heard.values[request];
    client.add({.queue = 99}, wire::CreateSvmFree(b, b.CreateVector<std::uint64_t>({address})));
  }
  EXPECT_EQ(client.heard.answers[2], CL_SUCCESS);
  EXPECT_EQ(client.heard.answers[3], CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(Hostile, QueriesThatWriteThroughPointersAreNotPassedOn) {
  const auto client = ready();
  auto& b = client->builder;
  std::uint32_t request = 0;
  for (cl_uint param = 0x1000; param < 0x1300; ++param) {
    client->add({.request = ++request}, wire::CreateQuery(b, wire::InfoSubject::memory, kBuffer, 0, param));
    client->add({.request = ++request}, wire::CreateQuery(b, wire::InfoSubject::queue, kQueue, 0, param));
    client->add({.request = ++request},
                wire::CreateQuery(b, wire::InfoSubject::kernel_sub_group, kBuffer, client->device, param));
    client->add({.request = ++request}, wire::CreateQuery(b, wire::InfoSubject::image, kBuffer, 0, param));
  }
  client->add({.request = ++request}, wire::CreateQuery(b, static_cast<wire::InfoSubject>(200), kBuffer));
  ASSERT_TRUE(client->send());
  EXPECT_TRUE(client->await_answer(request));
}

TEST_F(Hostile, AnotherClientsObjectsDoNotExist) {
  const auto owner = ready();
  owner->send();
  RawClient thief(endpoint_);
  ASSERT_TRUE(thief.begin());
  auto& b = thief.builder;
  thief.add({.request = 1}, wire::CreateQuery(b, wire::InfoSubject::memory, kBuffer, 0, CL_MEM_SIZE));
  thief.add({.request = 2, .queue = kQueue}, wire::CreateReadBuffer(b, kBuffer, 0, 64));
  thief.add({.request = 3},
            wire::CreateRelease(b, b.CreateVector<std::uint64_t>({kBuffer, kQueue, kContext})));
  thief.send();
  ASSERT_TRUE(thief.await_answer(3));
  EXPECT_EQ(thief.heard.answers[1], CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(thief.heard.answers[2], CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(thief.heard.answers[3], CL_INVALID_VALUE);
  owner->add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(owner->builder, kBuffer, 0, 64));
  owner->send();
  ASSERT_TRUE(owner->await_answer(1));
  EXPECT_EQ(owner->heard.answers[1], CL_SUCCESS);
}

TEST_F(Hostile, TheServersOwnObjectsCannotBeReleased) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({.request = 1},
              wire::CreateRelease(
                  b, b.CreateVector<std::uint64_t>({client->device, client->platform, kFirstServerId})));
  client->add({.request = 2},
              wire::CreateQuery(b, wire::InfoSubject::device, client->device, 0, CL_DEVICE_NAME));
  client->send();
  ASSERT_TRUE(client->await_answer(2));
  EXPECT_EQ(client->heard.answers[2], CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::remote
