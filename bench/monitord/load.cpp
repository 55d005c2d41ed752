// The daemon's costs with many clients, and the delay of a change from libvirt to them. Prints one row.
//
// usage: cleave_monitord_load [CLIENTS [CHANGES]]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "base/socket_address.h"
#include "monitor/daemon.h"
#include "monitor/hypervisor/libvirt.h"

#include <libvirt/libvirt.h>

namespace cleave::monitor {
namespace {

using Clock = std::chrono::steady_clock;  // the same in all processes of the machine
constexpr const char* kUri = "test:///default";
constexpr std::chrono::seconds kIdle{10};
constexpr std::chrono::milliseconds kBetweenChanges{20};  // for each thousand clients

struct Load {
  unsigned clients = 1000;
  unsigned changes = 1000;
};

// Memory that both processes share.
struct Shared {
  std::array<std::int64_t, 100'000> changed;  // when, in ns
  std::atomic<unsigned> made;                 // changes so far
  std::atomic<unsigned> connected;
};

std::int64_t now_ns() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

double milliseconds_at(std::vector<std::int64_t>& delays, double quantile) {
  const auto at = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(delays.size() - 1));
  std::nth_element(delays.begin(), delays.begin() + at, delays.end());
  return static_cast<double>(delays[static_cast<std::size_t>(at)]) / 1e6;
}

void allow_files(rlim_t files) {
  const rlimit limit{files, files};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("too few files may be open");
}

// The process of the clients. One in ten, chosen at random, records when each change arrived. The others' lines are read when
// those have nothing more to read: in production no client waits until others have been read.
class Clients {
 public:
  Clients(const Load& load, Shared& shared, const std::string& path) : shared_(shared) {
    const base::SocketAddress name = base::unix_address(path);
    for (unsigned i = 0; i < load.clients; ++i) {
      base::FileDescriptor& socket = sockets_.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), name.get(), name.size) != 0) throw std::runtime_error("cannot connect");
      const bool measured = random_() % kOneIn == 0;
      measured_ += measured ? 1 : 0;
      epoll_event event{EPOLLIN, {.u32 = i}};
      ::epoll_ctl(measured ? poll_.get() : others_.get(), EPOLL_CTL_ADD, socket.get(), &event);
    }
    delays_.reserve(measured_ * load.changes);
    shared_.connected = load.clients;
  }

  // Until the daemon closes the connection.
  void run() {
    left_ = sockets_.size();
    while (left_ > 0) {
      if (read_ready(poll_, kQuiet) > 0) continue;
      while (read_ready(others_, 0) > 0) {
      }
    }
  }

  std::vector<std::int64_t>& delays() { return delays_; }
  std::size_t measured() const { return measured_; }

 private:
  static constexpr unsigned kOneIn = 10;
  static constexpr int kQuiet = 10;  // milliseconds

  // How many there were.
  int read_ready(const base::FileDescriptor& poll, int milliseconds) {
    std::array<epoll_event, 256> events{};
    const int ready = ::epoll_wait(poll.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    for (int i = 0; i < ready; ++i) {
      if (!read(sockets_[events[static_cast<std::size_t>(i)].data.u32], &poll == &poll_)) --left_;
    }
    return ready;
  }

  bool read(base::FileDescriptor& socket, bool measured) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size() - 1, 0);
    const std::int64_t time = now_ns();
    if (got <= 0) socket = base::FileDescriptor();
    for (const char* at = bytes.data(); measured && (at = std::strstr(at, "count ")) != nullptr; ++at) {
      unsigned running = 0;
      if (std::sscanf(at, "count %*u %u", &running) == 1) note(running, time);
    }
    return got > 0;
  }

  // The line is that of the last change to this count: those with even numbers suspend the only domain.
  void note(unsigned running, std::int64_t time) {
    unsigned change = shared_.made;
    while (change > 0 && (change - 1) % 2 != running) --change;
    if (change > 0) delays_.push_back(time - shared_.changed[change - 1]);
  }

  Shared& shared_;
  std::mt19937 random_;                                          // the same clients each time
  base::FileDescriptor poll_{::epoll_create1(EPOLL_CLOEXEC)};    // those that are measured
  base::FileDescriptor others_{::epoll_create1(EPOLL_CLOEXEC)};  // and those that are not
  std::size_t measured_ = 0;
  std::size_t left_ = 0;
  std::vector<base::FileDescriptor> sockets_;
  std::vector<std::int64_t> delays_;
};

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Suspends and resumes the test driver's domain.
void make_changes(const Load& load, Shared& shared) {
  virConnectPtr connection = virConnectOpen(kUri);
  virDomainPtr domain = virDomainLookupByName(connection, "test");
  for (unsigned i = 0; i < load.changes; ++i) {
    std::this_thread::sleep_for(kBetweenChanges * std::max(1U, load.clients / 1000));
    shared.changed[i] = now_ns();
    shared.made = i + 1;
    if (i % 2 == 0) {
      virDomainSuspend(domain);
    } else {
      virDomainResume(domain);
    }
  }
  virDomainFree(domain);
  virConnectClose(connection);
}

void serve(const Load& load, Shared& shared, DaemonSockets sockets, const Options& options) {
  Libvirt libvirt;
  asio::io_context context(1);
  Daemon daemon(context, libvirt, options, std::move(sockets));
  std::thread loop([&] { context.run(); });
  while (shared.connected < load.clients) {
    if (waitpid(-1, nullptr, WNOHANG) != 0) std::_Exit(EXIT_FAILURE);  // the clients have said why
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double before = processor_seconds();
  std::this_thread::sleep_for(kIdle);
  const double idle = (processor_seconds() - before) / std::chrono::duration<double>(kIdle).count();
  const double mib = resident_mib();
  make_changes(load, shared);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  asio::post(context, [&] { daemon.stop(); });
  loop.join();
  std::printf("| %u | %.1f MiB | %.1f MiB | %.2f %% |", load.clients, mib, resident_mib(), 100 * idle);
  std::fflush(stdout);
}

void follow(const Load& load, Shared& shared, const std::string& path) {
  Clients clients(load, shared, path);
  clients.run();
  auto& delays = clients.delays();
  const double all = static_cast<double>(clients.measured()) * load.changes;
  const double seen = 100 * static_cast<double>(delays.size()) / all;
  if (delays.empty()) throw std::runtime_error("no change came through");
  std::printf(" %.2f ms | %.2f ms | %.2f ms | %.1f %% |\n", milliseconds_at(delays, 0.5),
              milliseconds_at(delays, 0.99), milliseconds_at(delays, 1), seen);
}

int measure(const Load& load) {
  allow_files(load.clients + 128);
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED || load.changes > shared->changed.size())
    throw std::runtime_error("too many changes");
  const std::string path = "/tmp/cleave-load-" + std::to_string(getpid()) + ".sock";
  Options options;
  options.connect = {kUri};
  options.listen = {base::parse_address("unix:" + path).value()};
  options.max_clients = load.clients;
  DaemonSockets sockets = open_sockets(options);
  const pid_t clients = fork();
  if (clients == 0) {
    follow(load, *shared, path);
    std::exit(EXIT_SUCCESS);
  }
  serve(load, *shared, std::move(sockets), options);
  int status = 0;
  waitpid(clients, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

}  // namespace
}  // namespace cleave::monitor

int main(int count, char** arguments) try {
  cleave::monitor::Load load;
  if (count > 1) load.clients = static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10));
  if (count > 2) load.changes = static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10));
  return cleave::monitor::measure(load);
} catch (const std::exception& failure) {
  std::fprintf(stderr, "cleave_monitord_load: %s\n", failure.what());
  return EXIT_FAILURE;
}
