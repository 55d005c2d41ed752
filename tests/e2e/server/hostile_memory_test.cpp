// Clients that have the server keep more for them than they may.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::uint64_t kObjectSize = 4096;

// What objects are made of costs the host's memory, however little of the device's they have.
TEST(SmallMemory, ObjectsOfEachKindAreLimited) {
  ServerProcess server({"--memory-per-client", "1M", "--clients-per-peer", "0"});
  const Endpoint endpoint = server.endpoint();
  using Add = void (*)(RawClient&, std::uint64_t);
  const std::map<std::string, Add> kinds{
      {"program", [](RawClient& client, std::uint64_t id) { client.create_program(id, "x"); }},
      {"sub-buffer",
       [](RawClient& client, std::uint64_t id) {
         client.add({}, wire::CreateCreateSubBuffer(client.builder, id, kBuffer, CL_MEM_READ_WRITE, 0, 128));
       }},
      {"buffer",
       [](RawClient& client, std::uint64_t id) {
         client.add({}, wire::CreateCreateBuffer(client.builder, id, kContext, CL_MEM_READ_WRITE, 1));
       }},
      {"user event",
       [](RawClient& client, std::uint64_t id) {
         client.add({}, wire::CreateCreateUserEvent(client.builder, id, kContext));
       }},
      {"event",
       [](RawClient& client, std::uint64_t id) {
         client.add({.queue = kQueue, .event = id}, wire::CreateMarker(client.builder));
       }},
      {"context", [](RawClient& client, std::uint64_t id) {
         client.add({}, wire::CreateCreateContext(
                            client.builder, id, client.builder.CreateVector<std::uint64_t>({client.device})));
       }}};
  for (const auto& [kind, add] : kinds) {
    RawClient client(endpoint);
    ASSERT_TRUE(client.begin());
    client.create_objects(kObjectSize);
    client.send();
    std::uint64_t id = 100;
    std::uint32_t request = 0;
    const auto fails = [&client, kind = kind] {
      const auto& events = client.received.completions;
      return !client.received.failures.empty() ||
             (kind == "event" &&
              std::any_of(events.begin(), events.end(), [](const auto& each) { return each.second < 0; }));
    };
    const std::byte text{'x'};
    for (int frame = 0; frame < 80 && !fails(); ++frame) {
      std::vector<std::span<const std::byte>> texts;
      for (int i = 0; i < 250; ++i) {
        add(client, ++id);
        if (kind == std::string("program")) texts.push_back(std::span(&text, 1));
      }
      ASSERT_TRUE(client.send(texts));
      client.add({.request = ++request, .queue = kQueue}, wire::CreateFinishQueue(client.builder));
      ASSERT_TRUE(client.send());
      ASSERT_TRUE(client.await_answer(request)) << kind << ": " << client.received.goodbye;
    }
    EXPECT_TRUE(fails()) << kind << ", " << id << " of them";
    for (const int error : client.received.failures) ASSERT_EQ(error, CL_OUT_OF_HOST_MEMORY) << kind;
    std::vector<std::uint64_t> all(250);
    std::iota(all.begin(), all.end(), 101);
    client.received.failures.clear();
    client.add({}, wire::CreateRelease(client.builder, client.builder.CreateVector(all)));
    client.add({.request = ++request}, wire::CreateCreateUserEvent(client.builder, ++id, kContext));
    client.send();
    EXPECT_EQ(client.error_of(request), CL_SUCCESS) << kind << ": what is released does not count";
  }
}

// A kernel with 250 arguments.
void create_large_kernel(RawClient& client, std::uint64_t program, std::uint64_t kernel) {
  auto& b = client.builder;
  std::string source = "kernel void k(int a0";
  for (int i = 1; i < 250; ++i) source += ", int a" + std::to_string(i);
  source += ") {}";
  client.create_program(program, source);
  client.add({.request = 1}, wire::CreateBuildProgram(b, program));
  ASSERT_TRUE(client.send({std::as_bytes(std::span(source))}));
  ASSERT_EQ(client.error_of(1), CL_SUCCESS);
  client.add({}, wire::CreateCreateKernel(b, kernel, program, b.CreateString("k")));
  const std::int32_t value = 0;
  for (std::uint32_t i = 0; i < 250; ++i) {
    client.add({}, wire::CreateSetKernelArg(
                       b, kernel, i, sizeof value, wire::Argument::bytes, 0,
                       b.CreateVector(reinterpret_cast<const std::uint8_t*>(&value), sizeof value)));
  }
}

// Nor may what the driver and the server keep about commands in flight take more than that: a user event holds them up.
TEST(SmallMemory, CommandsInFlightAreLimited) {
  ServerProcess server({"--memory-per-client", "1M", "--clients-per-peer", "0"});
  const Endpoint endpoint = server.endpoint();
  constexpr std::uint64_t kUserEvent = 30;
  constexpr std::uint64_t kKernelOfMany = 32;
  const std::vector<std::uint64_t> many(2000, kUserEvent);
  using Add = std::function<void(RawClient&)>;
  const auto list = [](RawClient& client, std::uint64_t id) {
    return client.builder.CreateVector(std::vector<std::uint64_t>(2000, id));
  };
  const std::map<std::string, Add> kinds{
      {"wait lists",
       [&](RawClient& c) { c.add({.queue = kQueue, .waits = many}, wire::CreateMarker(c.builder)); }},
      {"lists of objects",
       [&](RawClient& c) { c.add({.queue = kQueue}, wire::CreateMigrate(c.builder, list(c, kBuffer))); }},
      {"launches of many arguments", [&](RawClient& c) {
         const wire::Size3 one(1, 0, 0);
         c.add({.queue = kQueue}, wire::CreateNDRange(c.builder, kKernelOfMany, 1, nullptr, &one));
       }}};
  for (const auto& [kind, add] : kinds) {
    RawClient client(endpoint);
    ASSERT_TRUE(client.begin());
    auto& b = client.builder;
    client.create_objects(kObjectSize);
    client.add({}, wire::CreateCreateUserEvent(b, kUserEvent, kContext));
    if (kind == "launches of many arguments") create_large_kernel(client, 31, kKernelOfMany);
    client.add({.queue = kQueue, .waits = {kUserEvent}}, wire::CreateMarker(b));
    std::uint32_t request = 1;
    for (int frame = 0; frame < 30 && client.received.failures.empty(); ++frame) {
      for (int i = 0; i < 50; ++i) add(client);
      client.add({.request = ++request},
                 wire::CreateQuery(b, wire::InfoSubject::device, client.device, 0, CL_DEVICE_NAME));
      ASSERT_TRUE(client.send());
      ASSERT_EQ(client.error_of(request), CL_SUCCESS) << kind << ": " << client.received.goodbye;
    }
    ASSERT_FALSE(client.received.failures.empty()) << kind;
    for (const int error : client.received.failures) ASSERT_EQ(error, CL_OUT_OF_HOST_MEMORY) << kind;
    client.received.failures.clear();
    client.add({}, wire::CreateSetUserEventStatus(b, kUserEvent, CL_COMPLETE));
    client.add({.request = ++request, .queue = kQueue}, wire::CreateFinishQueue(b));
    ASSERT_TRUE(client.send());
    ASSERT_EQ(client.error_of(request), CL_SUCCESS) << kind;
    for (int i = 0; i < 50; ++i) add(client);
    client.add({.request = ++request, .queue = kQueue}, wire::CreateFinishQueue(b));
    ASSERT_TRUE(client.send());
    ASSERT_EQ(client.error_of(request), CL_SUCCESS) << kind;
    EXPECT_TRUE(client.received.failures.empty()) << kind << ": what has ended does not count";
  }
}

}  // namespace
}  // namespace cleave::remote
