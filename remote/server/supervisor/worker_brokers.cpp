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

#include "base/settings/configuration.h"
#include "interpose/broker/broker.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/supervisor/process_end.h"
#include "remote/server/supervisor/spawn.h"

namespace cleave::remote::server {
namespace {

// One that takes longer to leave is killed: the kernel leaves for it.
constexpr std::chrono::seconds kLeaveTime{1};

// -1: there is none.
bool send_channel(int control, int channel) {
  return send_packet(control, packet_of(ipc::CreateBrokerChannel), std::span(&channel, channel >= 0 ? 1 : 0));
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
  send_channel(broker.control.get(), its_end.get());
  return broker;
}

bool WorkerBrokers::connect(WorkerBroker& broker, int worker_control) {
  const base::FileDescriptor channel = std::move(broker.channel);
  return send_channel(worker_control, channel.get());
}

bool WorkerBrokers::assign(const WorkerBroker& broker, const Assignment& assignment) {
  return !broker.control.is_open() || send_packet_now(broker.control.get(), encode(assignment));
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
  PacketReader reader;
  reader.read_socket(STDIN_FILENO, 0);
  if (reader.get<ipc::BrokerChannel>() == nullptr || reader.descriptors.empty()) return EXIT_SUCCESS;
  const base::FileDescriptor channel = std::move(reader.descriptors.front());
  interpose::Broker broker(channel.get());
  reader.read_socket(STDIN_FILENO, 0);
  const auto* const assignment = reader.get<ipc::Assignment>();
  if (assignment == nullptr) {  // the server stops, and its workers with it
    pollfd ended{channel.get(), 0, 0};
    while (::poll(&ended, 1, -1) < 0) {
    }
    std::_Exit(EXIT_SUCCESS);
  }
  const base::Configuration configuration =
      base::load(environment_for(decode(*assignment).grant, base::process_environment()));
  ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  const std::string why = broker.run(configuration, [] {
    const char sign = 'l';
    static_cast<void>(!::write(STDOUT_FILENO, &sign, sizeof sign));
  });
  if (!why.empty()) log_line("a client is disconnected, since its limits cannot be enforced: " + why);
  std::_Exit(why.empty() ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace cleave::remote::server
