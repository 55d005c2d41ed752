// A server on a real driver: what it answers to valid clients, and what becomes of their workers.
#include <csignal>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/opencl.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr const char* kSource = R"(
  kernel void add(global int* a, int n) { a[get_global_id(0)] += n; }
  kernel void hello(int n) { printf("hello %d\n", n); }
  kernel void endless(global int* a) { for (atomic_xchg(a, 0); atomic_add(a, 0) == 0;) {} }
)";
constexpr std::uint64_t kProgram = 4;
constexpr std::uint64_t kKernel = 5;
constexpr std::size_t kItems = 1024;

// User time of a process, in clock ticks.
std::int64_t cpu_time(pid_t process) {
  const std::string stat = kit::file_contents("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 14; ++i) fields >> field;
  return std::stoll(field);
}

// A forked child, which is killed at the end of the test if not before.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_;
};

std::span<const std::byte> bytes(const std::vector<cl_int>& data) { return std::as_bytes(std::span(data)); }

// A server, and a client of it with a context, a queue and a buffer of kItems numbers, which are not sent yet.
struct Served {
  explicit Served(std::vector<std::string> options = {}, const HelloFields& hello = {},
                  std::uint64_t queue_properties = 0)
      : server(std::move(options)), client(server.endpoint()) {
    EXPECT_TRUE(client.begin(hello));
    client.create_objects(kItems * sizeof(cl_int), queue_properties);
  }

  ServerProcess server;
  RawClient client;
};

class Serving : public testing::Test {
 protected:
  static void make_kernel(RawClient& client, const char* name) {
    auto& b = client.builder;
    const std::string_view source(kSource);
    client.create_program(kProgram, source);
    client.add({.request = 900}, wire::CreateBuildProgram(b, kProgram, 0, b.CreateString("")));
    client.send({std::as_bytes(std::span(source))});
    ASSERT_EQ(client.error_of(900), CL_SUCCESS);
    client.add({.request = 901}, wire::CreateCreateKernel(b, kKernel, kProgram, b.CreateString(name)));
    client.send();
    ASSERT_EQ(client.error_of(901), CL_SUCCESS);
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

TEST_F(Serving, ComputationNeedsTwoRoundTripsBesidesTheBuild) {
  Served served;
  RawClient& client = served.client;
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
  ASSERT_EQ(client.error_of(1), CL_SUCCESS);
  EXPECT_EQ(client.received.completions.at(50), CL_COMPLETE);
  EXPECT_TRUE(client.received.failures.empty());
  for (cl_int& one : data) one += 7;
  EXPECT_EQ(std::memcmp(client.received.data[1].data(), data.data(), kItems * sizeof(cl_int)), 0);
  EXPECT_EQ(client.received.commands_ended, 3U);
}

TEST_F(Serving, LargeTransfersArriveComplete) {
  Served served;
  RawClient& client = served.client;
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
  ASSERT_EQ(client.received.answers.at(1), CL_SUCCESS);
  ASSERT_EQ(client.received.data[1].size(), size);
  EXPECT_EQ(std::memcmp(client.received.data[1].data(), data.data(), size), 0);
  EXPECT_EQ(client.received.completions.at(60), CL_COMPLETE);
  // Each byte counts once as written and once as read. A failed write still counts, a failed read does not.
  EXPECT_EQ(client.received.bytes_ended, 2 * size);
  client.add({.request = 2, .queue = kQueue}, wire::CreateReadBuffer(b, 10, size, 64));
  client.add({.request = 3, .queue = kQueue, .payload = 64}, wire::CreateWriteBuffer(b, 10, size, 64));
  client.send({bytes(data).first(64)});
  ASSERT_TRUE(client.await_answer(3));
  EXPECT_EQ(client.received.answers[2], CL_INVALID_VALUE);
  EXPECT_EQ(client.received.bytes_ended, 2 * size + 64);
  EXPECT_EQ(client.received.commands_ended, 4U);
}

TEST_F(Serving, PrintfOutputPrecedesCompletion) {
  Served served;
  RawClient& client = served.client;
  make_kernel(client, "hello");
  set_int(client, 0, 42);
  launch(client, 1);
  finish(client, 1);
  client.send();
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(client.received.output, "hello 42\n");
}

TEST_F(Serving, BlockedQueueDoesNotBlockOtherQueues) {
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    Served served({}, {}, bits);
    RawClient& client = served.client;
    auto& b = client.builder;
    client.add({}, wire::CreateCreateQueue(b, 20, kContext, client.device, b.CreateVector<std::uint64_t>({0}),
                                           true));
    client.add({}, wire::CreateCreateUserEvent(b, 30, kContext));
    client.add({.queue = kQueue, .event = 31, .waits = {30}}, wire::CreateMarker(b));
    finish(client, 1);
    client.add({.request = 2, .queue = 20}, wire::CreateReadBuffer(b, kBuffer, 0, 64));
    client.send();
    ASSERT_TRUE(client.await_answer(2));
    EXPECT_EQ(client.received.answers.count(1), 0U);
    client.add({.request = 3}, wire::CreateSetUserEventStatus(b, 30, CL_COMPLETE));
    client.send();
    ASSERT_TRUE(client.await_answer(1));
    ASSERT_TRUE(client.await_completion(31));
    EXPECT_EQ(client.received.completions[31], CL_COMPLETE);
  }
}

TEST_F(Serving, FailedCommandFailsItsEventAndItsDependents) {
  Served served;
  RawClient& client = served.client;
  auto& b = client.builder;
  client.add({.queue = kQueue, .event = 30}, wire::CreateCopyBuffer(b, kBuffer, kBuffer, 0, 1U << 20U, 64));
  client.add({.queue = kQueue, .event = 31, .waits = {30}}, wire::CreateMarker(b));
  client.add({.request = 1, .queue = kQueue}, wire::CreateCopyBuffer(b, kBuffer, 777, 0, 0, 64));
  finish(client, 2);
  client.send();
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.received.completions.at(30), CL_INVALID_VALUE);
  EXPECT_EQ(client.received.completions.at(31), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(client.received.answers.at(1), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client.received.answers.at(2), CL_SUCCESS);
}

TEST_F(Serving, AnswersAtEndWaitForTheCommand) {
  for (const cl_int status : {cl_int{CL_COMPLETE}, cl_int{CL_OUT_OF_RESOURCES}}) {
    Served served({}, {.features = bit(Feature::end_answers)});
    RawClient& client = served.client;
    const std::vector<cl_int> data(16, 9);
    auto& b = client.builder;
    client.add({}, wire::CreateCreateUserEvent(b, 30, kContext));
    client.add({.request = 1, .queue = kQueue, .waits = {30}, .payload = 64, .at_end = true},
               wire::CreateWriteBuffer(b, kBuffer, 0, 64));
    client.add({.request = 2}, wire::CreateQuery(b, wire::InfoSubject::memory, kBuffer, 0, CL_MEM_SIZE));
    client.send({bytes(data)});
    ASSERT_TRUE(client.await_answer(2));
    EXPECT_EQ(client.received.answers.count(1), 0U);
    client.add({}, wire::CreateSetUserEventStatus(b, 30, status));
    client.send();
    ASSERT_TRUE(client.await_answer(1));
    EXPECT_EQ(client.received.answers[1] == CL_SUCCESS, status == CL_COMPLETE);
    EXPECT_TRUE(client.received.failures.empty());
    EXPECT_EQ(client.received.commands_ended, 1U);
    EXPECT_EQ(client.received.bytes_ended, 64U);
  }
}

TEST_F(Serving, AnswerAtEndReportsAFailedEnqueue) {
  Served served;
  RawClient& client = served.client;
  const std::vector<cl_int> data(16, 9);
  auto& b = client.builder;
  client.add({.request = 1, .queue = kQueue, .payload = 64, .at_end = true},
             wire::CreateWriteBuffer(b, 777, 0, 64));
  client.add({.queue = kQueue, .event = 31}, wire::CreateCopyBuffer(b, kBuffer, 777, 0, 0, 64));
  client.add({.request = 2, .queue = kQueue, .waits = {31}, .payload = 64, .at_end = true},
             wire::CreateWriteBuffer(b, kBuffer, 0, 64));
  client.send({bytes(data), bytes(data)});
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.received.answers.at(1), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client.received.answers.at(2), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_F(Serving, EmptyWaitListReachesTheDriver) {
  Served served;
  RawClient& client = served.client;
  client.add({.request = 1, .queue = kQueue, .empty_list = true}, wire::CreateMarker(client.builder));
  client.add({.request = 2, .queue = kQueue}, wire::CreateMarker(client.builder));
  client.send();
  ASSERT_TRUE(client.await_answer(2));
  EXPECT_EQ(client.received.answers.at(1), CL_INVALID_EVENT_WAIT_LIST);  // as PoCL answers
  EXPECT_EQ(client.received.answers.at(2), CL_SUCCESS);
}

TEST_F(Serving, MemoryBeyondTheClientLimitIsRefused) {
  Served served({"--memory-per-client", "1M"});
  RawClient& client = served.client;
  auto& b = client.builder;
  client.add({.request = 1}, wire::CreateCreateBuffer(b, 10, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({.request = 2}, wire::CreateCreateBuffer(b, 11, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({}, wire::CreateRelease(b, b.CreateVector<std::uint64_t>({10})));
  client.add({.request = 3}, wire::CreateCreateBuffer(b, 12, kContext, CL_MEM_READ_WRITE, 800 << 10));
  client.add({.request = 4}, wire::CreateCreateBuffer(b, 13, kContext, CL_MEM_READ_WRITE, UINT64_MAX - 4096));
  client.send();
  ASSERT_TRUE(client.await_answer(4));
  EXPECT_EQ(client.received.answers[1], CL_SUCCESS);
  EXPECT_EQ(client.received.answers[2], CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(client.received.answers[3], CL_SUCCESS);
  EXPECT_EQ(client.received.answers[4], CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(Serving, ByDefaultNobodyMayHaveAllMemory) {
  const auto most = [](const char* clients) -> std::uint64_t {
    ServerProcess server({"--max-clients", clients});
    RawClient client(server.endpoint());
    const auto* const welcome = client.greet();
    return welcome != nullptr ? welcome->most_memory() : 0;
  };
  const auto half = static_cast<double>(most("2"));
  EXPECT_GT(half, 0);
  EXPECT_NEAR(static_cast<double>(most("4")), 1.5 * half, 0.01 * half);
  EXPECT_EQ(most("1"), UINT64_MAX);
}

TEST_F(Serving, ClientsAreCountedAndLimited) {
  ServerProcess server({"--max-clients", "2"});
  const Endpoint endpoint = server.endpoint();
  RawClient first(endpoint);
  RawClient second(endpoint);
  ASSERT_TRUE(first.begin() && second.begin());
  RawClient third(endpoint);
  EXPECT_EQ(third.refusal(), wire::Refusal::full);
  // A client that only queries does not count.
  RawClient query(endpoint);
  const auto* const load = query.greet({.query = true});
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->refusal(), wire::Refusal::none);
  EXPECT_EQ(load->load()->clients(), 2U);
  EXPECT_EQ(server.clients(), "2");
  second.stream->shutdown();
  EXPECT_TRUE(kit::eventually([&] { return server.clients() == "1"; }));
}

TEST_F(Serving, WorkerOfAKilledClientEnds) {
  ServerProcess server({"--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  int launched[2];
  ASSERT_EQ(::pipe(launched), 0);
  const pid_t forked = ::fork();
  if (forked == 0) {
    RawClient client(endpoint);
    client.begin();
    client.create_objects(kItems * sizeof(cl_int));
    make_kernel(client, "endless");
    set_buffer(client);
    launch(client, 1);
    finish(client, 1);
    client.send();
    if (::write(launched[1], "", 1) == 1) ::pause();
    ::_exit(1);
  }
  Child child(forked);
  char byte = 0;
  ASSERT_EQ(::read(launched[0], &byte, 1), 1);
  const auto workers = server.workers();
  ASSERT_EQ(workers.size(), 1U);
  // The kernel runs when the worker uses time.
  const std::int64_t before = cpu_time(workers[0]);
  ASSERT_TRUE(kit::eventually([&] { return cpu_time(workers[0]) > before + 20; }));
  child.kill();
  EXPECT_TRUE(kit::eventually([&] { return server.workers().empty(); }));
  for (const int end : launched) ::close(end);
}

TEST_F(Serving, CrashedWorkerDoesNotAffectOtherClients) {
  ServerProcess server({"--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  RawClient first(endpoint);
  ASSERT_TRUE(first.begin());
  const auto workers = server.workers();
  ASSERT_EQ(workers.size(), 1U);
  RawClient second(endpoint);
  ASSERT_TRUE(second.begin());
  ::kill(workers[0], SIGKILL);
  EXPECT_TRUE(first.is_disconnected());
  EXPECT_TRUE(server.logs("crashed"));
  second.create_objects(kItems * sizeof(cl_int));
  EXPECT_EQ(second.read(1), CL_SUCCESS);
}

TEST_F(Serving, ConnectionOfAWorkerThatDiesFirstGoesToAnother) {
  ServerProcess server({"--spare", "1"});
  ASSERT_TRUE(kit::eventually([&] { return server.workers().size() == 1; }));
  const pid_t spare = server.workers()[0];
  ::kill(spare, SIGSTOP);
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.send_hello());
  // Its successor is started once the connection is the stopped one's.
  ASSERT_TRUE(kit::eventually([&] { return server.workers().size() == 2; }));
  ::kill(spare, SIGKILL);
  EXPECT_EQ(client.await_refusal(), wire::Refusal::none);
  EXPECT_TRUE(server.logs("a worker could not start: its worker crashed: Killed"));
}

TEST_F(Serving, EditedOptionsFileAppliesFromTheNextStart) {
  const kit::TemporaryFolder folder;
  const std::string file = folder.write("serverd.toml", "memory-per-client = '1M'\n");
  ServerProcess server({"--config", file, "--spare", "0"});
  const Endpoint endpoint = server.endpoint();
  for (const char* text : {"memory-per-client = '2M'\n", "nonsense = [\n"}) {
    folder.write("serverd.toml", text);
    RawClient client(endpoint);
    const auto* const welcome = client.greet();
    ASSERT_NE(welcome, nullptr) << server.log();
    EXPECT_EQ(welcome->most_memory(), 1U << 20U) << text;
  }
}

// A worker's command line is for every user to read.
TEST_F(Serving, WorkersCommandLineShowsNoOptions) {
  ServerProcess server({"--memory-per-client", "1M", "--spare", "1"});
  server.endpoint();
  ASSERT_TRUE(kit::eventually([&] { return !server.workers().empty(); }));
  const std::string command = "/proc/" + std::to_string(server.workers()[0]) + "/cmdline";
  const std::string expected("cleave-serverd\0--worker\0", 24);
  EXPECT_TRUE(kit::eventually([&] { return kit::file_contents(command) == expected; }));
}

TEST_F(Serving, SilentClientIsDroppedAndIdleOneIsKept) {
  ServerProcess server({"--timeout", "2000"});
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin({.heartbeat = 200}));
  for (int i = 0; i < 10; ++i) {
    client.add({}, wire::CreatePing(client.builder, 1));
    client.send();
    EXPECT_FALSE(client.receive_until([&] { return client.received.gone; }, std::chrono::milliseconds(300)));
  }
  EXPECT_FALSE(client.received.gone);
  EXPECT_TRUE(client.is_disconnected());
  EXPECT_TRUE(server.logs("silent"));
}

TEST_F(Serving, StoppingTheServerEndsItsWorkers) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  const auto workers = server.workers();
  EXPECT_EQ(server.stop(), 0);
  EXPECT_TRUE(client.is_disconnected());
  for (const pid_t worker : workers) EXPECT_NE(::kill(worker, 0), 0);
}

TEST_F(Serving, WorkersEndWithAKilledServer) {
  ServerProcess server;
  RawClient client(server.endpoint());
  ASSERT_TRUE(client.begin());
  server.stop(SIGKILL);
  EXPECT_TRUE(client.is_disconnected());
}

TEST_F(Serving, ClientsWithoutTheTokenAreRefused) {
  const kit::TemporaryFolder folder;
  const std::string tokens = folder.write("token", "# comment\nopen sesame\n");
  ASSERT_EQ(::chmod(tokens.c_str(), 0600), 0);  // the server refuses a file that others can read
  ServerProcess server({"--token-file", tokens});
  const Endpoint endpoint = server.endpoint();
  for (const std::string token : {"", "open", "open sesame ", "# comment"}) {
    RawClient client(endpoint);
    const auto* const welcome = client.greet({.token = token});
    ASSERT_NE(welcome, nullptr);
    EXPECT_EQ(welcome->refusal(), wire::Refusal::token) << token;
    EXPECT_EQ(welcome->platforms(), nullptr);
    EXPECT_TRUE(client.is_disconnected());
  }
  RawClient client(endpoint);
  EXPECT_TRUE(client.begin({.token = "open sesame"}));
}

TEST_F(Serving, UnsupportedVersionsAndByteOrdersAreRefused) {
  ServerProcess server;
  const Endpoint endpoint = server.endpoint();
  RawClient newer(endpoint);
  EXPECT_EQ(newer.refusal({.version = 99, .oldest = 98}), wire::Refusal::version);
  RawClient other(endpoint);
  EXPECT_EQ(other.refusal({.order = wire::ByteOrder::big}), wire::Refusal::byte_order);
}

}  // namespace
}  // namespace cleave::remote
