// A server on a real driver, and clients that say what they mean, byte by byte.
#include <csignal>
#include <numeric>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr const char* kSource = R"(
  kernel void add(global int* a, int n) { a[get_global_id(0)] += n; }
  kernel void hello(int n) { printf("hello %d\n", n); }
  kernel void endless(global int* a) { while (atomic_add(a, 0) == 0) {} }
)";
constexpr std::uint64_t kProgram = 4;
constexpr std::uint64_t kKernel = 5;
constexpr std::size_t kItems = 1024;

std::span<const std::byte> bytes(const std::vector<cl_int>& data) { return std::as_bytes(std::span(data)); }

class Serving : public testing::Test {
 protected:
  // A context, a queue and a buffer of kItems ints, all without waiting for an answer.
  static void make_basics(RawClient& client, std::uint64_t queue_bits = 0) {
    auto& b = client.builder;
    client.add({}, wire::CreateCreateContext(b, kContext, b.CreateVector<std::uint64_t>({client.device})));
    client.add({}, wire::CreateCreateQueue(b, kQueue, kContext, client.device,
                                           b.CreateVector<std::uint64_t>({queue_bits}), true));
    client.add({},
               wire::CreateCreateBuffer(b, kBuffer, kContext, CL_MEM_READ_WRITE, kItems * sizeof(cl_int)));
  }

  static void make_kernel(RawClient& client, const char* name) {
    auto& b = client.builder;
    const std::string_view source(kSource);
    client.add({.payload = source.size()}, wire::CreateCreateProgramWithSource(b, kProgram, kContext));
    client.add({.request = 900}, wire::CreateBuildProgram(b, kProgram, 0, b.CreateString("")));
    client.send({std::as_bytes(std::span(source))});
    ASSERT_TRUE(client.await_answer(900));
    ASSERT_EQ(client.heard.answers[900], CL_SUCCESS);
    client.add({.request = 901}, wire::CreateCreateKernel(b, kKernel, kProgram, b.CreateString(name)));
    client.send();
    ASSERT_TRUE(client.await_answer(901));
    ASSERT_EQ(client.heard.answers[901], CL_SUCCESS);
  }

  static void set_int(RawClient& client, std::uint32_t index, cl_int value) {
    auto& b = client.builder;
    const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    client.add({}, wire::CreateSetKernelArg(b, kKernel, index, sizeof value, wire::Argument::bytes, 0, data));
  }
  static void set_buffer(RawClient& client, std::uint64_t buffer = kBuffer) {
    client.add({}, wire::CreateSetKernelArg(client.builder, kKernel, 0, sizeof(cl_mem),
                                            wire::Argument::object, buffer));
  }
  static void launch(RawClient& client, std::size_t items, std::uint64_t event = 0,
                     std::vector<std::uint64_t> waits = {}) {
    const wire::Size3 global(items, 1, 1);
    client.add({.queue = kQueue, .event = event, .waits = std::move(waits)},
               wire::CreateNDRange(client.builder, kKernel, 1, nullptr, &global));
  }
  static void finish(RawClient& client, std::uint32_t request) {
    client.add({.request = request, .queue = kQueue}, wire::CreateFinishQueue(client.builder));
  }
};

TEST_F(Serving, AWholeComputationTakesTwoRoundTripsAndTheBuild) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  make_kernel(client, "add");
  std::vector<cl_int> data(kItems);
  std::iota(data.begin(), data.end(), 0);
  client.add({.queue = kQueue, .payload = kItems * sizeof(cl_int)},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kItems * sizeof(cl_int)));
  set_buffer(client);
  set_int(client, 1, 7);
  launch(client, kItems, 50);
  client.add({.request = 1, .queue = kQueue},
             wire::CreateReadBuffer(client.builder, kBuffer, 0, kItems * sizeof(cl_int)));
  client.send({bytes(data)});
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(client.heard.answers[1], CL_SUCCESS);
  EXPECT_EQ(client.heard.completions.at(50), CL_COMPLETE);
  EXPECT_TRUE(client.heard.failures.empty());
  for (cl_int& one : data) one += 7;
  EXPECT_EQ(std::memcmp(client.heard.data[1].data(), data.data(), kItems * sizeof(cl_int)), 0);
  EXPECT_EQ(client.heard.commands_ended, 3U);
}

TEST_F(Serving, LargeDataComesAndGoesWhole) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  constexpr std::size_t kLarge = (9U << 20U) + 12345;
  std::vector<cl_int> data(kLarge / sizeof(cl_int));
  std::iota(data.begin(), data.end(), 17);
  const std::size_t size = data.size() * sizeof(cl_int);
  auto& b = client.builder;
  client.add({}, wire::CreateCreateBuffer(b, 10, kContext, CL_MEM_READ_WRITE, size));
  client.add({.queue = kQueue, .event = 60, .payload = size}, wire::CreateWriteBuffer(b, 10, 0, size));
  client.add({.request = 1, .queue = kQueue, .event = 61}, wire::CreateReadBuffer(b, 10, 0, size));
  client.send({bytes(data)});
  ASSERT_TRUE(client.await_completion(61));
  ASSERT_EQ(client.heard.answers.at(1), CL_SUCCESS);
  ASSERT_EQ(client.heard.data[1].size(), size);
  EXPECT_EQ(std::memcmp(client.heard.data[1].data(), data.data(), size), 0);
  EXPECT_EQ(client.heard.completions.at(60), CL_COMPLETE);
  // Written and read, each byte counts once; what fails has been written but never read.
  EXPECT_EQ(client.heard.bytes_ended, 2 * size);
  client.add({.request = 2, .queue = kQueue}, wire::CreateReadBuffer(b, 10, size, 64));
  client.add({.request = 3, .queue = kQueue, .payload = 64}, wire::CreateWriteBuffer(b, 10, size, 64));
  client.send({bytes(data).first(64)});
  ASSERT_TRUE(client.await_answer(3));
  EXPECT_EQ(client.heard.answers[2], CL_INVALID_VALUE);
  EXPECT_EQ(client.heard.bytes_ended, 2 * size + 64);
  EXPECT_EQ(client.heard.commands_ended, 4U);
}

TEST_F(Serving, WhatKernelsPrintComesBeforeTheirEnd) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  make_kernel(client, "hello");
  set_int(client, 0, 42);
  launch(client, 1);
  finish(client, 1);
  client.send();
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(client.heard.output, "hello 42\n");
}

TEST_F(Serving, AQueueThatWaitsForAUserEventHoldsUpNobody) {
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    ServerProcess server;
    RawClient client(server.endpoint());
    ASSERT_TRUE(client.begin());
    make_basics(client, bits);
    auto& b = client.builder;
    client.add({}, wire::CreateCreateQueue(b, 20, kContext, client.device, b.CreateVector<std::uint64_t>({0}),
                                           true));
    client.add({}, wire::CreateCreateUserEvent(b, 30, kContext));
    client.add({.queue = kQueue, .event = 31, .waits = {30}}, wire::CreateMarker(b));
    finish(client, 1);
    client.add({.request = 2, .queue = 20}, wire::CreateReadBuffer(b, kBuffer, 0, 64));
    client.send();
    ASSERT_TRUE(client.await_answer(2));
    EXPECT_EQ(client.heard.answers.count(1), 0U);
    client.add({.request = 3}, wire::CreateSetUserEventStatus(b, 30, CL_COMPLETE));
    client.send();
    ASSERT_TRUE(client.await_answer(1));
    ASSERT_TRUE(client.await_completion(31));
    EXPECT_EQ(client.heard.completions[31], CL_COMPLETE);
  }
}

TEST_F(Serving, ACommandThatFailsEndsItsEventAndThoseThatWait) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  auto& b = client.builder;
  client.add({.queue = kQueue, .event = 30}, wire::CreateCopyBuffer(b, kBuffer, kBuffer, 0, 1U << 20U, 64));
  client.add({.queue = kQueue, .event = 31, .waits = {30}}, wire::CreateMarker(b));
  client.add({.request = 1, .queue = kQueue}, wire::CreateCopyBuffer(b, kBuffer, 777, 0, 0, 64));
  finish(client, 2);
  client.send();
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.heard.completions.at(30), CL_INVALID_VALUE);
  EXPECT_EQ(client.heard.completions.at(31), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(client.heard.answers.at(1), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client.heard.answers.at(2), CL_SUCCESS);
}

TEST_F(Serving, AnswersComeAtTheEndWhereThatIsAskedFor) {
  for (const cl_int status : {cl_int{CL_COMPLETE}, cl_int{CL_OUT_OF_RESOURCES}}) {
    ServerProcess server;
    RawClient client(server.endpoint());
    ASSERT_TRUE(client.begin({.features = bit(Feature::end_answers)}));
    make_basics(client);
    const std::vector<cl_int> data(16, 9);
    auto& b = client.builder;
    client.add({}, wire::CreateCreateUserEvent(b, 30, kContext));
    client.add({.request = 1, .queue = kQueue, .waits = {30}, .payload = 64, .at_end = true},
               wire::CreateWriteBuffer(b, kBuffer, 0, 64));
    client.add({.request = 2}, wire::CreateQuery(b, wire::InfoSubject::memory, kBuffer, 0, CL_MEM_SIZE));
    client.send({bytes(data)});
    ASSERT_TRUE(client.await_answer(2));
    EXPECT_EQ(client.heard.answers.count(1), 0U);
    client.add({}, wire::CreateSetUserEventStatus(b, 30, status));
    client.send();
    ASSERT_TRUE(client.await_answer(1));
    EXPECT_EQ(client.heard.answers[1] == CL_SUCCESS, status == CL_COMPLETE);
    EXPECT_TRUE(client.heard.failures.empty());
    EXPECT_EQ(client.heard.commands_ended, 1U);
    EXPECT_EQ(client.heard.bytes_ended, 64U);
  }
}

TEST_F(Serving, AnAnswerAtTheEndTellsThatNothingWasBegun) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  const std::vector<cl_int> data(16, 9);
  auto& b = client.builder;
  client.add({.request = 1, .queue = kQueue, .payload = 64, .at_end = true},
             wire::CreateWriteBuffer(b, 777, 0, 64));
  client.add({.queue = kQueue, .event = 31}, wire::CreateCopyBuffer(b, kBuffer, 777, 0, 0, 64));
  client.add({.request = 2, .queue = kQueue, .waits = {31}, .payload = 64, .at_end = true},
             wire::CreateWriteBuffer(b, kBuffer, 0, 64));
  client.send({bytes(data), bytes(data)});
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.heard.answers.at(1), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client.heard.answers.at(2), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_F(Serving, AListOfNoEventsIsTheDriversToJudge) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  client.add({.request = 1, .queue = kQueue, .empty_list = true}, wire::CreateMarker(client.builder));
  client.add({.request = 2, .queue = kQueue}, wire::CreateMarker(client.builder));
  client.send();
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.heard.answers.at(1), CL_INVALID_EVENT_WAIT_LIST);  // PoCL's judgement
  EXPECT_EQ(client.heard.answers.at(2), CL_SUCCESS);
}

TEST_F(Serving, MemoryBeyondTheClientsShareIsRefused) {
  ServerProcess server({"--memory-per-client", "1M"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  make_basics(client);
  auto& b = client.builder;
  client.add({.request = 1}, wire::CreateCreateBuffer(b, 10, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({.request = 2}, wire::CreateCreateBuffer(b, 11, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({}, wire::CreateRelease(b, b.CreateVector<std::uint64_t>({10})));
  client.add({.request = 3}, wire::CreateCreateBuffer(b, 12, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({.request = 4}, wire::CreateCreateBuffer(b, 13, kContext, CL_MEM_READ_WRITE, UINT64_MAX - 4096));
  client.send();
  ASSERT_TRUE(client.await_answer(4));
  EXPECT_EQ(client.heard.answers[1], CL_SUCCESS);
  EXPECT_EQ(client.heard.answers[2], CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(client.heard.answers[3], CL_SUCCESS);
  EXPECT_EQ(client.heard.answers[4], CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(Serving, ClientsAreCountedAndLimited) {
  ServerProcess server({"--max-clients", "2"});
  const Endpoint endpoint = server.endpoint();
  RawClient first(endpoint);
  RawClient second(endpoint);
  ASSERT_TRUE(first.begin() && second.begin());
  RawClient third(endpoint);
  ASSERT_TRUE(third.say_hello());
  const auto* const welcome = third.await_welcome();
  ASSERT_NE(welcome, nullptr);
  EXPECT_EQ(welcome->refusal(), wire::Refusal::full);
  // A visitor is no client.
  RawClient visitor(endpoint);
  ASSERT_TRUE(visitor.say_hello({.query = true}));
  const auto* const shown = visitor.await_welcome();
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown->refusal(), wire::Refusal::none);
  EXPECT_EQ(shown->load()->clients(), 2U);
  EXPECT_EQ(server.clients(), "2");
  second.stream->shutdown();
  ASSERT_TRUE(server.says("went"));
  EXPECT_EQ(server.clients(), "1");
}

TEST_F(Serving, AKilledClientLeavesNothingBehindWithinASecond) {
  ServerProcess server({"--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  const pid_t child = ::fork();
  if (child == 0) {
    RawClient client(endpoint);
    client.begin();
    make_basics(client);
    make_kernel(client, "endless");
    set_buffer(client);
    launch(client, 1);
    finish(client, 1);
    client.send();
    ::pause();
  }
  ASSERT_TRUE(server.says("came"));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ASSERT_EQ(server.workers().size(), 1U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!server.workers().empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(server.workers().empty());
}

TEST_F(Serving, AWorkerThatDiesTouchesNobodyElse) {
  ServerProcess server({"--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  RawClient first(endpoint);
  ASSERT_TRUE(first.begin());
  const auto workers = server.workers();
  ASSERT_EQ(workers.size(), 1U);
  RawClient second(endpoint);
  ASSERT_TRUE(second.begin());
  ::kill(workers[0], SIGKILL);
  EXPECT_TRUE(first.is_sent_away());
  EXPECT_TRUE(server.says("crashed"));
  make_basics(second);
  second.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(second.builder, kBuffer, 0, 64));
  second.send();
  EXPECT_TRUE(second.await_answer(1));
}

TEST_F(Serving, ASilentClientIsGoneAndAnIdleOneIsNot) {
  ServerProcess server({"--timeout", "600"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin({.heartbeat = 200}));
  for (int i = 0; i < 6; ++i) {
    client.add({}, wire::CreatePing(client.builder, 1));
    client.send();
    EXPECT_FALSE(client.listen_until([&] { return client.heard.gone; }, std::chrono::milliseconds(200)));
  }
  EXPECT_FALSE(client.heard.gone);
  EXPECT_TRUE(client.is_sent_away());
  EXPECT_TRUE(server.says("silent"));
}

TEST_F(Serving, TheServerEndsWithAllOfItsWorkers) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  const auto workers = server.workers();
  EXPECT_EQ(server.stop(), 0);
  EXPECT_TRUE(client.is_sent_away());
  for (const pid_t worker : workers) EXPECT_NE(::kill(worker, 0), 0);
}

TEST_F(Serving, AKilledServerTakesItsWorkersWithIt) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  server.stop(SIGKILL);
  EXPECT_TRUE(client.is_sent_away());
}

TEST_F(Serving, ATokenIsAskedFor) {
  char path[] = "/tmp/cleave-token.XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_EQ(::write(file, "# ours\nopen sesame\n", 19), 19);
  ::close(file);
  ServerProcess server({"--token-file", path});
  const Endpoint endpoint = server.endpoint();
  for (const std::string token : {"", "open", "open sesame ", "# ours"}) {
    RawClient client(endpoint);
    ASSERT_TRUE(client.say_hello({.token = token}));
    const auto* const welcome = client.await_welcome();
    ASSERT_NE(welcome, nullptr);
    EXPECT_EQ(welcome->refusal(), wire::Refusal::token) << token;
    EXPECT_EQ(welcome->platforms(), nullptr);
    EXPECT_TRUE(client.is_sent_away());
  }
  RawClient client(endpoint);
  EXPECT_TRUE(client.begin({.token = "open sesame"}));
  ::unlink(path);
}

TEST_F(Serving, OtherVersionsAndByteOrdersAreRefused) {
  ServerProcess server;
  const Endpoint endpoint = server.endpoint();
  RawClient newer(endpoint);
  ASSERT_TRUE(newer.say_hello({.version = 99, .oldest = 98}));
  EXPECT_EQ(newer.await_welcome()->refusal(), wire::Refusal::version);
  RawClient other(endpoint);
  ASSERT_TRUE(other.say_hello({.order = wire::ByteOrder::big}));
  EXPECT_EQ(other.await_welcome()->refusal(), wire::Refusal::byte_order);
}

}  // namespace
}  // namespace cleave::remote
