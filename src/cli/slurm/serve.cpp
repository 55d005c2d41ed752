// `cleave slurm serve`: a server for one job, with a key and a certificate that are as old as the job's step.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <stdexcept>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/files/regular_file.h"
#include "base/files/search_list.h"
#include "cli/slurm/exchange.h"
#include "cli/slurm/job.h"
#include "cli/slurm/process.h"
#include "cli/slurm/sealed.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/token.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kStartTimeout{60};
constexpr std::size_t kMostLog = 4096;  // of the server's output, shown if it fails

struct Certificate {
  std::string key;  // files
  std::string file;
  std::string text;
};

// Valid for this address alone, and needed only while the server's process lives.
Certificate make_certificate(const TaskFolder& folder, const std::string& address) {
  const bool is_number =
      address.find_first_not_of("0123456789.") == std::string::npos || address.find(':') != std::string::npos;
  Certificate made{folder.file("key.pem"), folder.file("certificate.pem"), ""};
  const Captured done =
      capture({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
               "-nodes", "-keyout", made.key, "-out", made.file, "-days", "3650", "-subj", "/CN=cleave-slurm",
               "-addext", std::string("subjectAltName=") + (is_number ? "IP:" : "DNS:") + address});
  made.text = base::read_regular_file(made.file, 65'536).text.value_or("");
  if (done.status != 0 || made.text.empty())
    throw std::runtime_error("no certificate: is openssl installed on this node?");
  return made;
}

// Under Cleave, libraries are preloaded into programs; the server contains them already.
std::vector<std::pair<std::string, std::optional<std::string>>> server_environment() {
  const Installation cleave = find_installation();
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "OPENCL_LAYERS"}) {
    base::SearchList kept;
    for (const std::string& entry : base::split(variable(name), " :;")) {
      const bool is_ours = entry == cleave.drop_in || entry == cleave.stub || entry == cleave.layer ||
                           entry == cleave.drop_in_folder;
      if (!is_ours) kept.push_back(entry);
    }
    const std::string rest = base::join(kept, ':');
    changes.emplace_back(name, rest.empty() ? std::nullopt : std::optional(rest));
  }
  changes.emplace_back("CLEAVE_SLURM_TOKEN", std::nullopt);
  return changes;
}

std::vector<std::string> server_command(const SlurmServeRequest& request, const Certificate& certificate,
                                        const std::string& token_file) {
  const std::filesystem::path beside = std::filesystem::path(own_command()).parent_path() / "cleave-serverd";
  std::vector<std::string> command = {
      beside,      "--listen",           "tls:0.0.0.0:0", "--tls-cert", certificate.file,
      "--tls-key", certificate.key,      "--token-file",  token_file,   "--max-clients",
      "1000",      "--clients-per-peer", "1000"};
  if (::geteuid() == 0) command.insert(command.end(), {"--user", "root"});
  command.insert(command.end(), request.options.begin(), request.options.end());
  return command;
}

// The port in the server's line "listening on tls:0.0.0.0:PORT"; empty if there is none yet.
std::string port_in(const std::string& log) {
  const std::string mark = "listening on tls:";
  const std::size_t line = log.find(mark);
  const std::size_t end = log.find('\n', line);
  if (line == std::string::npos || end == std::string::npos) return {};
  return log.substr(log.rfind(':', end) + 1, end - log.rfind(':', end) - 1);
}

// A server and how it is doing.
class RunningServer {
 public:
  explicit RunningServer(std::vector<std::string> command)
      : process_({.command = std::move(command),
                  .environment = server_environment(),
                  .own_group = true,
                  .pipe_input = false,
                  .pipe_output = true,
                  .pipe_errors = true}) {}

  std::string wait_for_port(SignalWatch& signals) {
    const auto until = std::chrono::steady_clock::now() + kStartTimeout;
    while (port_in(log_).empty()) {
      if (signals.wait(process_.output.get(), 100ms))
        throw std::runtime_error("ended before the server was ready");
      const bool has_failed = process_.status() || std::chrono::steady_clock::now() > until;
      read_log();
      if (has_failed && port_in(log_).empty())
        throw std::runtime_error("cleave-serverd does not start: " + log_);
    }
    is_ready_ = true;
    return port_in(log_);
  }

  // Its output is kept in case it fails.
  void read_log() {
    if (process_.output.is_open() && !process_.read(log_)) process_.output.close();
    if (is_ready_ && log_.size() > kMostLog) log_.erase(0, log_.size() - kMostLog);
  }

  int stream() const { return process_.output.get(); }
  bool has_ended() { return process_.status().has_value(); }
  const std::string& log() const { return log_; }
  void end() { process_.end(0ms); }

 private:
  Process process_;
  bool is_ready_ = false;
  std::string log_;
};

// Whether standard input, which the session holds open as long as it lives, has ended.
bool input_ended() {
  char byte = 0;
  ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  return ::read(STDIN_FILENO, &byte, 1) == 0;
}

std::string host_and_port(const std::string& host, const std::string& port) {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

// Serves until its clients are done. Returns the exit status.
int serve_until(RunningServer& server, SignalWatch& signals, JobWatch& job,
                const std::optional<Exchange>& exchange) {
  for (;;) {
    if (signals.wait(server.stream(), 500ms)) return 0;
    server.read_log();
    if (server.has_ended()) {
      std::fprintf(stderr, "cleave: the server on %s has ended: %s\n", variable("SLURMD_NODENAME").c_str(),
                   server.log().c_str());
      return 1;
    }
    if (exchange ? exchange->is_over() : input_ended()) return 0;
    if (!job.goes_on()) return 0;
  }
}

}  // namespace

int slurm_serve(const SlurmServeRequest& request) {
  SignalWatch signals;
  const std::string address = node_address();
  const std::string from_session = variable("CLEAVE_SLURM_TOKEN");
  std::optional<Exchange> exchange;
  if (from_session.empty()) exchange.emplace(request.exchange);
  const std::string sealed_token = exchange ? exchange->agree("token", seal(make_token())) : from_session;

  const TaskFolder folder;
  const std::string token_file = folder.write("token", unseal(sealed_token) + "\n");
  const Certificate certificate = make_certificate(folder, address);
  RunningServer server(server_command(request, certificate, token_file));
  const std::string place = "tls:" + host_and_port(address, server.wait_for_port(signals));
  const std::string sealed = seal(place + "\n" + certificate.text);
  if (exchange) {
    exchange->publish("server", sealed);
  } else {
    std::printf("cleave-server %s\n", sealed.c_str());
    std::fflush(stdout);
  }
  JobWatch job(request.check);
  const int status = serve_until(server, signals, job, exchange);
  server.end();
  if (exchange) exchange->remove();
  return status;
}

}  // namespace cleave::cli
