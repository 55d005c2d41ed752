// Clients that send wrong lengths, ids, kinds, sizes and states. The server disconnects them or answers with OpenCL's
// errors; it never crashes or hangs, and the next client is served.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "remote/protocol/limits.h"
#include "tests/e2e/server/hostile_client.h"
#include "tests/e2e/server/raw_client.h"

namespace cleave::remote {
namespace {

TEST_F(HostileClient, ConnectionWithoutAValidHelloIsClosed) {
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
  for (const std::string& bytes : all) expect_closed_after(bytes);
}

TEST_F(HostileClient, MissingHelloTimesOut) {
  RawClient client(endpoint_);
  EXPECT_TRUE(client.is_disconnected());
  EXPECT_TRUE(server_.logs("refused: no Hello in time"));
}

// Every third byte of a valid Hello is changed in turn.
TEST_F(HostileClient, CorruptHelloNeverCrashesAWorker) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("corrupt");
  builder.Finish(
      wire::CreateHello(builder, kVersion, kOldestVersion, 0, wire::ByteOrder::little, 0, name, 0, false));
  std::string hello(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const auto header = encode({FrameKind::hello, static_cast<std::uint32_t>(hello.size()), 0});
  hello.insert(0, reinterpret_cast<const char*>(header.data()), header.size());
  for (std::size_t at = 0; at < hello.size(); at += 3) {
    std::string corrupt = hello;
    corrupt[at] = static_cast<char>(corrupt[at] ^ 0x41);
    expect_closed_after(corrupt);
  }
}

TEST_F(HostileClient, ProtocolViolationsEndTheConnection) {
  expect_violation("an id in the server's range", [](RawClient& client) {
    client.add(
        {}, wire::CreateCreateBuffer(client.builder, kFirstServerId + 77, kContext, CL_MEM_READ_WRITE, 64));
  });
  expect_violation("the id 0", [](RawClient& client) {
    client.add({}, wire::CreateCreateBuffer(client.builder, 0, kContext, CL_MEM_READ_WRITE, 64));
  });
  expect_violation("an id in use", [](RawClient& client) {
    client.add({}, wire::CreateCreateBuffer(client.builder, kBuffer, kContext, CL_MEM_READ_WRITE, 64));
  });
  expect_violation("an event id in use", [](RawClient& client) {
    client.add({.queue = kQueue, .event = kBuffer}, wire::CreateMarker(client.builder));
  });
  expect_violation("an event id in the server's range", [](RawClient& client) {
    client.add({.queue = kQueue, .event = kFirstServerId}, wire::CreateMarker(client.builder));
  });
  expect_violation("read without a request for an answer", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, 64));
  });
  expect_violation("FinishQueue without a request for an answer", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateFinishQueue(client.builder));
  });
  expect_violation("a write without its payload", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateWriteBuffer(client.builder, kBuffer, 0, 64));
  });
  expect_violation("shared memory that was not negotiated", [](RawClient& client) {
    client.add({.queue = kQueue, .shared = wire::Shared(0, 64)},
               wire::CreateWriteBuffer(client.builder, kBuffer, 0, 64));
  });
  expect_violation("a queue in a command that takes none", [](RawClient& client) {
    client.add({.queue = kQueue}, wire::CreateCreateUserEvent(client.builder, 50, kContext));
  });
}

TEST_F(HostileClient, PayloadSizeMismatchEndsTheConnection) {
  const auto client = ready();
  const std::vector<std::byte> data(64);
  client->add({.queue = kQueue, .payload = 1U << 20U},
              wire::CreateWriteBuffer(client->builder, kBuffer, 0, 64));
  client->send({data});
  EXPECT_TRUE(client->is_disconnected());
}

TEST_F(HostileClient, TooManyPendingCommandsEndTheConnection) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({}, wire::CreateCreateUserEvent(b, 30, kContext));
  client->add({.queue = kQueue, .waits = {30}}, wire::CreateMarker(b));
  bool sent = client->send();
  for (int frame = 0; frame < 200 && sent; ++frame) {
    for (int i = 0; i < 1000; ++i) client->add({.queue = kQueue}, wire::CreateMarker(b));
    sent = client->send();
  }
  EXPECT_TRUE(client->is_disconnected());
  EXPECT_TRUE(server_.logs("too many commands"));
}

// The driver copies what it reads by them.
TEST_F(HostileClient, PitchesDoNotReachBeyondAnImagesContents) {
  constexpr std::uint64_t kWidth = 16;
  constexpr std::uint64_t kHeight = 64;
  constexpr std::uint64_t kFar = std::uint64_t{1} << 22U;
  const auto client = ready();
  auto& b = client->builder;
  const std::vector<std::byte> contents(kWidth * kHeight * 4);
  const wire::ImageFormat format(CL_RGBA, CL_UNORM_INT8);
  const auto create = [&](std::uint32_t number, std::uint64_t depth, std::uint64_t row, std::uint64_t slice,
                          cl_mem_object_type type) {
    const wire::ImageDesc desc(kWidth, kHeight / depth, depth, 0, row, slice, type, 0, 0);
    client->add({.request = number, .payload = contents.size()},
                wire::CreateCreateImage(b, 100 + number, kContext, CL_MEM_READ_ONLY, &format, &desc));
    ASSERT_TRUE(client->send({contents}));
    ASSERT_TRUE(client->await_answer(number)) << "the worker has ended";
    EXPECT_EQ(client->received.answers[number], CL_SUCCESS);
  };
  create(1, 1, 128, 0, CL_MEM_OBJECT_IMAGE2D);
  create(2, 1, kFar, 0, CL_MEM_OBJECT_IMAGE2D);
  create(3, 4, 0, kFar, CL_MEM_OBJECT_IMAGE3D);
}

// Ids of no object and of objects of another kind.
TEST_F(HostileClient, InvalidIdsGetTheErrorOfTheirKind) {
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
  ASSERT_TRUE(client->receive_until([&] { return client->received.answers.size() == expected.size(); }));
  EXPECT_EQ(client->received.answers, expected);
}

TEST_F(HostileClient, RangesOutsideABufferAreRefused) {
  const auto client = ready();
  auto& b = client->builder;
  std::uint32_t request = 0;
  const auto size = [](std::uint64_t x, std::uint64_t y, std::uint64_t z) { return wire::Size3(x, y, z); };
  const wire::Size3 zero = size(0, 0, 0);
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, kSize + 1}, {kSize, 1}, {UINT64_MAX, 2}, {1, UINT64_MAX}, {UINT64_MAX - 1, UINT64_MAX - 1}}) {
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
  ASSERT_TRUE(client->receive_until([&] { return client->received.answers.size() == request; }));
  for (const auto& [number, error] : client->received.answers) EXPECT_NE(error, CL_SUCCESS) << number;
}

TEST_F(HostileClient, BytesAreNotAcceptedForHandleArguments) {
  const auto client = ready();
  auto& b = client->builder;
  const std::string_view source(
      "kernel void k(global int* a, int n, sampler_t s, local int* l) { a[0] = n; }");
  client->create_program(10, source);
  // Without this option PoCL does not report the arguments' kinds, and uses any bytes as a handle.
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
  set(3, 0, wire::Argument::bytes, 0, 8);         // a pointer instead of a buffer
  set(4, 2, wire::Argument::bytes, 0, 8);         // a pointer instead of a sampler
  set(5, 1, wire::Argument::object, kBuffer, 8);  // a handle instead of a number
  set(6, 0, wire::Argument::object, kQueue, 8);
  set(7, 0, wire::Argument::svm, 0x4141414141, 8);
  set(8, 99, wire::Argument::bytes, 0, 4);
  set(9, 3, wire::Argument::local, 0, UINT64_MAX / 2);
  client->send();
  ASSERT_TRUE(client->await_answer(9)) << client->received.goodbye << server_.log();
  EXPECT_EQ(client->received.answers[2], CL_SUCCESS);
  for (std::uint32_t request = 3; request < 9; ++request)
    EXPECT_NE(client->received.answers[request], CL_SUCCESS) << request;
}

// The files that a build sends stay inside the folder that the server makes for them.
TEST_F(HostileClient, IncludePathsOutsideTheFolderEndTheConnection) {
  const auto is_refused = [&](const std::string& what, const std::vector<std::string>& names,
                              const std::vector<std::uint64_t>& sizes, std::uint64_t payload) {
    const auto client = ready();
    const std::string_view source("kernel void k() {}");
    client->create_program(10, source);
    auto& b = client->builder;
    const auto included = wire::CreateIncluded(b, b.CreateVectorOfStrings(names), b.CreateVector(sizes), 0);
    client->add({.payload = payload}, wire::CreateBuildProgram(b, 10, 0, 0, included));
    const std::vector<std::byte> text(payload);
    EXPECT_TRUE(client->is_rejected({std::as_bytes(std::span(source)), text})) << what;
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

TEST_F(HostileClient, ConflictingIncludesAreSkipped) {
  const auto client = ready();
  auto& b = client->builder;
  const std::string_view source("#include <x.h>\nkernel void k() {}");
  const std::string_view text("12345678");
  client->create_program(10, source);
  const auto names = b.CreateVectorOfStrings(
      std::vector<std::string>{"/a", "/a/b", "/c/", "/c", "/" + std::string(300, 'x'), "/a/../a/./x.h"});
  const auto included = wire::CreateIncluded(
      b, names, b.CreateVector<std::uint64_t>({1, 1, 0, 1, 1, 4}),
      b.CreateVectorOfStrings(std::vector<std::string>{"-I ", "/a -I ", "", "/../.. -I ", "/c"}));
  client->add({.request = 1, .payload = text.size()}, wire::CreateBuildProgram(b, 10, 0, 0, included));
  client->send({std::as_bytes(std::span(source)), std::as_bytes(std::span(text))});
  ASSERT_TRUE(client->await_answer(1)) << client->received.goodbye;
  EXPECT_EQ(client->received.answers[1], CL_BUILD_PROGRAM_FAILURE);
}

// Addresses are the server's; a client may use only those in its own blocks.
TEST_F(HostileClient, SvmAddressesOutsideTheClientsBlocksAreRefused) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({.request = 1}, wire::CreateSvmAlloc(b, kContext, CL_MEM_READ_WRITE, kSize));
  client->send();
  ASSERT_EQ(client->error_of(1), CL_SUCCESS);
  const std::uint64_t block = client->received.values[1];
  std::uint32_t request = 1;
  const auto expect_refused = [&](std::uint64_t address, std::uint64_t size) {
    const auto add = [&](auto body) { client->add({.request = ++request, .queue = kQueue}, body); };
    add(wire::CreateSvmRead(b, address, size));
    add(wire::CreateSvmCopy(b, address, block, size));
    add(wire::CreateSvmCopy(b, block, address, size));
    add(wire::CreateSvmFill(b, address, b.CreateVector<std::uint8_t>({1}), size));
    add(wire::CreateSvmMigrate(b, b.CreateVector<std::uint64_t>({address}),
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
  // A free in an unknown queue fails and leaves the block usable; a successful one does not.
  const auto twice = [&] { return b.CreateVector<std::uint64_t>({block, block, 0, UINT64_MAX}); };
  client->add({.request = last + 1, .queue = 99}, wire::CreateSvmFree(b, twice()));
  client->add({.request = last + 2, .queue = kQueue}, wire::CreateSvmRead(b, block, kSize));
  client->add({.request = last + 3, .queue = kQueue}, wire::CreateSvmFree(b, twice()));
  client->add({.request = last + 4, .queue = kQueue}, wire::CreateSvmRead(b, block, 1));
  client->add({.request = last + 5}, wire::CreateSvmFree(b, twice()));
  client->send();
  ASSERT_TRUE(client->receive_until([&] { return client->received.answers.size() == last + 5; }));
  for (std::uint32_t i = 2; i <= last; ++i) EXPECT_NE(client->received.answers[i], CL_SUCCESS) << i;
  EXPECT_EQ(client->received.answers[last + 1], CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(client->received.answers[last + 2], CL_SUCCESS);
  EXPECT_EQ(client->received.answers[last + 3], CL_SUCCESS);
  EXPECT_EQ(client->received.answers[last + 4], CL_INVALID_VALUE);
  EXPECT_EQ(client->received.answers[last + 5], CL_SUCCESS);
  expect_violation("payload for a buffer over shared virtual memory", [&](RawClient& other) {
    auto& o = other.builder;
    other.add({.payload = 4}, wire::CreateCreateBuffer(o, 50, kContext, CL_MEM_READ_WRITE, 4, 0, block));
  });
}

TEST_F(HostileClient, FailedSvmFreeKeepsTheMemoryCounted) {
  ServerProcess server({"--memory-per-client", "1M"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  auto& b = client.builder;
  client.create_context();
  for (std::uint32_t request = 1; request <= 3; ++request) {
    client.add({.request = request}, wire::CreateSvmAlloc(b, kContext, CL_MEM_READ_WRITE, 400U << 10U));
    client.send();
    ASSERT_TRUE(client.await_answer(request));
    const std::uint64_t address = client.received.values[request];
    client.add({.queue = 99}, wire::CreateSvmFree(b, b.CreateVector<std::uint64_t>({address})));
  }
  EXPECT_EQ(client.received.answers[2], CL_SUCCESS);
  EXPECT_EQ(client.received.answers[3], CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(HostileClient, QueriesThatWriteThroughPointersAreNotForwarded) {
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

TEST_F(HostileClient, ObjectsOfOtherClientsAreInaccessible) {
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
  EXPECT_EQ(thief.received.answers[1], CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(thief.received.answers[2], CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(thief.received.answers[3], CL_INVALID_VALUE);
  EXPECT_EQ(owner->read(1), CL_SUCCESS);
}

TEST_F(HostileClient, ServerOwnedObjectsCannotBeReleased) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({.request = 1},
              wire::CreateRelease(
                  b, b.CreateVector<std::uint64_t>({client->device, client->platform, kFirstServerId})));
  client->add({.request = 2},
              wire::CreateQuery(b, wire::InfoSubject::device, client->device, 0, CL_DEVICE_NAME));
  client->send();
  ASSERT_EQ(client->error_of(2), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::remote