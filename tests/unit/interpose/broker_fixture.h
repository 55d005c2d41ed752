// A broker and the process that it takes turns and books memory for, as threads of this process.
#pragma once

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "interpose/broker/broker.h"
#include "interpose/broker/brokered_turns.h"
#include "interpose/broker/participation.h"
#include "neighbours/peers_source.h"
#include "neighbours/registry_folder.h"
#include "tests/kit/eventually.h"
#include "tests/kit/hostile_file.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"
#include "tests/kit/with.h"
#include "tests/unit/turns/participant.h"

namespace cleave::interpose {

inline constexpr std::uint64_t kDevice = 1234;

inline base::Configuration configuration_in(const std::string& folder) {
  base::Configuration configuration;
  configuration.settings.registry = folder;
  return configuration;
}

// Lives as long as the test's process, as in a server: detached threads may use it.
template <typename Object>
Object* kept(Object* object) {
  static base::Mutex mutex;
  static std::vector<void*>& all = *new std::vector<void*>;
  const base::MutexLock lock(mutex);
  all.push_back(object);
  return object;
}

// A broker with what it serves.
struct Served {
  explicit Served(const base::Configuration& given) : configuration(*kept(new base::Configuration(given))) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    auto* const broker = kept(new Broker(ends[0]));
    std::packaged_task<std::string()> serve([this, broker] { return broker->run(configuration); });
    why = serve.get_future();
    std::thread(std::move(serve)).detach();
    client = kept(new BrokerClient(ends[1]));
  }
  void declare() const { client->declare({{kDevice, "device"}}); }
  // Its process, which takes turns.
  [[nodiscard]] std::unique_ptr<BrokeredTurns> joined(base::ForkLocks& forks,
                                                      const turns::Options& options) const {
    declare();
    auto turns = std::make_unique<BrokeredTurns>(*client, forks, options);
    std::string problem;
    EXPECT_TRUE(turns->enter(problem)) << problem;
    return turns;
  }
  // What the broker says in the end, once the process has.
  std::string end() {
    shutdown(ends[1], SHUT_RDWR);
    return why.get();
  }

  const base::Configuration& configuration;
  int ends[2] = {-1, -1};
  std::future<std::string> why;
  BrokerClient* client = nullptr;
};

// Another process, which reads only when it is told to.
struct RawProcess {
  explicit RawProcess(const base::Configuration& configuration) : served(configuration) {
    char page = 0;
    EXPECT_EQ(recv(served.ends[1], &page, 1, 0), 1);
    BrokerRequest device;
    device.op = BrokerOp::declare;
    device.identity = kDevice;
    EXPECT_TRUE(tell(device));
    EXPECT_TRUE(tell(BrokerOp::seal));
    const timeval patience{30, 0};
    setsockopt(served.ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  [[nodiscard]] bool tell(const BrokerRequest& request, int flags = 0) const {
    return send(served.ends[1], &request, sizeof request, MSG_NOSIGNAL | flags) ==
           static_cast<ssize_t>(sizeof request);
  }
  [[nodiscard]] bool tell(BrokerOp op, std::uint32_t number = 0, int flags = 0) const {
    BrokerRequest request;
    request.op = op;
    request.number = number;
    return tell(request, flags);
  }
  // Empty: the broker has ended.
  [[nodiscard]] std::optional<BrokerAnswer> receive() const {
    BrokerAnswer answer;
    if (recv(served.ends[1], &answer, sizeof answer, 0) != static_cast<ssize_t>(sizeof answer)) return {};
    return answer;
  }
  [[nodiscard]] std::optional<BrokerAnswer> answer_to(std::uint32_t number) const {
    auto answer = receive();
    while (answer && answer->number != number) answer = receive();
    return answer;
  }

  Served served;
};

struct BrokerTest : testing::Test {
  kit::TemporaryFolder folder;
  base::Configuration configuration = configuration_in(folder.path());
  base::ForkLocks forks;

  [[nodiscard]] turns::Options options(const std::string& identity = std::to_string(kDevice)) const {
    turns::Options made = turns::options_in(folder.path());
    made.identity = identity;
    return made;
  }
  // A holder loses the device soon.
  [[nodiscard]] turns::Options fast_options() const {
    return kit::with(options(), &turns::Options::timing, turns::Timing{});
  }
  [[nodiscard]] std::string file_of(const char* kind) const {
    for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
      if (each.path().filename().string().starts_with(kind)) return each.path().string();
    }
    return {};
  }
  static void damage(const std::string& file) {
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).write("\xff\xff\xff\xff", 4);
  }
  static std::unique_ptr<limits::MemoryLedger> ledger_of(const Served& served) {
    set_broker(served.client);
    std::string problem;
    auto ledger = open_ledger("", std::to_string(kDevice), "", problem, "");
    set_broker(nullptr);
    return ledger;
  }
};

}  // namespace cleave::interpose
