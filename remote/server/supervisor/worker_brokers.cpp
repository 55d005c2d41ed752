#include "remote/server/supervisor/worker_brokers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/configuration.h"
#include "interpose/broker/broker.h"
#include "remote/server/log.h"
#include "remote/server/supervisor/process_end.h"
#include "remote/server/supervisor/received_options.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

// One that takes longer to leave is killed: the kernel leaves for it.
constexpr std::chrono::seconds kLeaveTime{1};

bool send_descriptor(int control, int descriptor) {
  const char word = 'b';
  const std::span<const int> all(&descriptor, descriptor >= 0 ? 1 : 0);
  return send_with_descriptors(control, std::as_bytes(std::span(&word, 1)), all);
}

}  // namespace

WorkerBroker WorkerBrokers::start(const std::vector<daemon::GivenValue>& options, const Launch& launch) {
  WorkerBroker broker;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return broker;
  const base::FileDescriptor its_end(ends[0]);
  broker.channel = base::FileDescriptor(ends[1]);
  const Spawned spawned = spawn(kBrokerArgument, options, "", &launch);
  if (spawned.process < 0) return broker;
  broker.process = spawned.process;
  broker.control = base::FileDescriptor(spawned.control);
  broker.life = base::FileDescriptor(spawned.reports);
  send_descriptor(broker.control.get(), its_end.get());
  return broker;
}

bool WorkerBrokers::connect(WorkerBroker& broker, int worker_control) {
  const base::FileDescriptor channel = std::move(broker.channel);
  return send_descriptor(worker_control, channel.get());
}

bool WorkerBrokers::assign(const WorkerBroker& broker, const Assignment& assignment) {
  if (!broker.control.is_open()) return true;
  const std::string packet = encode(assignment);
  return ::send(broker.control.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

WorkerBrokers::End WorkerBrokers::new_end(WorkerBroker& broker) {
  if (broker.process <= 0 || broker.is_noticed) return End::none;
  siginfo_t status{};
  const auto process = static_cast<id_t>(broker.process);
  if (::waitid(P_PID, process, &status, WEXITED | WNOHANG | WNOWAIT) == 0 && status.si_pid == 0)
    return End::none;
  broker.is_noticed = true;
  return status.si_code == CLD_EXITED && status.si_status == EXIT_SUCCESS ? End::closed : End::failed;
}

bool WorkerBrokers::end_if_silent(WorkerBroker& broker) {
  if (broker.process <= 0 || broker.is_noticed) return false;
  std::array<char, 256> signs;
  bool is_heard = false;
  while (::read(broker.life.get(), signs.data(), signs.size()) > 0) is_heard = true;
  broker.silent_looks = is_heard ? 0 : broker.silent_looks + 1;
  if (broker.silent_looks != kMostSilentLooks) return false;
  ::kill(broker.process, SIGKILL);
  return true;
}

void WorkerBrokers::end(WorkerBroker broker) {
  if (broker.process > 0) ending_.push_back({broker.process, std::chrono::steady_clock::now() + kLeaveTime});
}

void WorkerBrokers::reap() {
  std::erase_if(ending_, [](const Ending& each) {
    if (!has_ended(each.process)) {
      if (std::chrono::steady_clock::now() >= each.until) ::kill(each.process, SIGKILL);
      return false;
    }
    ::waitpid(each.process, nullptr, 0);
    return true;
  });
}

bool has_limits(const Grant& grant) {
  const base::Settings settings = base::load(environment_for(grant, base::process_environment())).settings;
  return settings.limits.cap.permille != 0 || settings.limits.memory != 0;
}

int run_broker() {
  ::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(receive_options(kBrokerArgument));
  char word = 0;
  std::vector<base::FileDescriptor> channel;
  if (receive_with_descriptors(STDIN_FILENO, std::as_writable_bytes(std::span(&word, 1)), channel, 0) != 1 ||
      channel.size() != 1)
    return EXIT_SUCCESS;
  interpose::Broker broker(channel.front().get());
  std::string text(kMaxPacket, '\0');
  const ssize_t got = ::recv(STDIN_FILENO, text.data(), text.size(), 0);
  Assignment assignment;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (got <= 0 || !decode(text, assignment)) {  // the server stops, and its workers with it
    pollfd ended{channel.front().get(), 0, 0};
    while (::poll(&ended, 1, -1) < 0) {
    }
    std::_Exit(EXIT_SUCCESS);
  }
  const base::Configuration configuration =
      base::load(environment_for(assignment.grant, base::process_environment()));
  ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  const std::string why = broker.run(configuration, [] {
    const char sign = 'l';
    static_cast<void>(!::write(STDOUT_FILENO, &sign, sizeof sign));
  });
  if (!why.empty()) log_line("the limits of a client cannot be kept, so that it is disconnected: " + why);
  std::_Exit(why.empty() ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace cleave::remote::server
