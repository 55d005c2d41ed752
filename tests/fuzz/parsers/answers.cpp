// Arbitrary answers of a server: a program runs on the client under test, and a mock server in this process answers as the
// input says (answers/script.h). With correct answers every call of the program has to succeed, which is checked as well.
//
// Every input starts with a client without connections, and ends when all of its threads, objects and memory are gone.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "answers/client_program.h"
#include "answers/listener.h"
#include "answers/script.h"
#include "harness.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/library/startup.h"
#include "remote/client/objects/client.h"

namespace {

using cleave::fuzz::require;
using namespace cleave::fuzz::answers;   // NOLINT(google-build-using-namespace): the harness's own
using namespace cleave::remote::client;  // NOLINT(google-build-using-namespace): what it is about
using std::chrono::steady_clock;

constexpr std::chrono::seconds kForEver{120};

// By the status, since a listing of /proc/self/task may miss threads while others end.
unsigned threads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    unsigned count = 0;
    if (word == "Threads:" && status >> count) return count;
  }
  require(false, "threads can be counted");
  return 0;
}

// Returns when all callbacks that were posted before have been called.
void drain(CallbackQueue& callbacks) {
  std::promise<void> done;
  callbacks.post([&] { done.set_value(); });
  require(done.get_future().wait_for(kForEver) == std::future_status::ready, "callbacks come to an end");
}

void drain_all() {
  for (CallbackQueue* const one : {&client.internal_callbacks, &client.migration_worker, &client.callbacks})
    drain(*one);
}

// Created once, before objects are counted.
struct Surroundings {
  std::array<ListeningSocket, Script::kServers> listening_sockets{ListeningSocket(0), ListeningSocket(1)};
  unsigned threads_without_client = 0;

  Surroundings() {
    // Discards the kernels' output.
    require(std::freopen("/dev/null", "w", stdout) != nullptr, "there is nowhere");
    ::setenv("CLEAVE_CONFIG", "/dev/null", 1);
    use_plain_table();
    drain_all();
    threads_without_client = threads();
  }
};

// Resets the client's state for its servers.
void reset_client() {
  for (const Object* const device : catalog.devices)
    delete static_cast<ObjectState*>(cleave::objects::raw_of(*device));
  catalog.devices.clear();
  catalog.platform = nullptr;
  catalog.only_platform = 0;
  catalog.platform_texts.clear();
  catalog.platform_extensions.clear();
  catalog.platform_version = 0;
  catalog.timer_resolution = 0;
  catalog.servers.~Servers();
  new (&catalog.servers) Servers;
  client.objects.~Objects();
  new (&client.objects) cleave::objects::Objects;
  restart_for_tests();
}

// From here on the servers send nothing more.
void close_connections() {
  for (std::size_t i = 0; i < catalog.servers.count(); ++i) {
    if (const auto connection = catalog.servers.current(i)) connection->close();
  }
}

void await_thread_count(unsigned threads_left) {
  const auto until = steady_clock::now() + kForEver;
  while (threads() != threads_left) {
    require(steady_clock::now() < until, "connections come to an end");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Surroundings surroundings;
  const Script script = read_script({data, size});
  const bool several = script.program + 1 == Program::kCount;
  std::string addresses = surroundings.listening_sockets[0].address();
  if (several) addresses += "," + surroundings.listening_sockets[1].address();
  ::setenv("CLEAVE_REMOTE", addresses.c_str(), 1);
  std::optional<Server> first(std::in_place, surroundings.listening_sockets[0], script, 0);
  std::optional<Server> second;
  if (several) second.emplace(surroundings.listening_sockets[1], script, 1);
  initialize();
  {
    Program program(platform_table(), script.is_good());
    program.run(script.program);
    close_connections();
    // Threads of the servers, and the client's permanent ones.
    await_thread_count(surroundings.threads_without_client + (several ? 2 : 1));
    drain_all();
    drain_all();
    program.check_callbacks();
  }
  first.reset();
  second.reset();
  reset_client();
  return 0;
}
