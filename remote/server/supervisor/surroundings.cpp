#include "remote/server/supervisor/surroundings.h"

#include <unistd.h>

#include "base/settings/configuration.h"
#include "remote/server/processes/packets.h"
#include "remote/server/processes/privileges.h"
#include "remote/server/sandbox/identity.h"
#include "remote/server/supervisor/trace_folder.h"
#include "remote/transport/tls.h"

namespace cleave::remote::server {
namespace {

void check_users(const Options& options) {
  if (::geteuid() == 0 && options.user.empty())
    throw OptionError("--user: the server is root; name another user for its workers, or say --user root");
  check_user(options.user);
  const auto& users = options.sandbox.users;
  if (!users) return;
  if (::geteuid() != 0) throw OptionError("--user-range: only root may give workers users of their own");
  if (users->last - users->first < options.max_clients + options.spare)
    throw OptionError("--user-range: has fewer users than --max-clients and --spare together");
  const std::string name = user_in(*users);
  if (!name.empty()) throw OptionError("--user-range: the user \"" + name + "\" is in it");
}

}  // namespace

void check_for_workers(const Options& options) {
  check_users(options);
  if (encode(options.given).size() > kMaxOptionsSize)
    throw OptionError("the options are too long to be handed to workers; shorten the lists among them");
  std::string problem = options.trace.empty() ? std::string() : problem_of_trace_folder(options.trace);
  if (!problem.empty()) {
    throw OptionError("--trace " + options.trace + ": " + problem +
                      "; name a folder that the server can write to");
  }
  if (options.tls.certificate.empty()) return;
  if (TlsServer::make(options.tls, problem) == nullptr) throw OptionError("TLS: " + problem);
}

SharedFiles shared_files(const Options& options, const std::string& count) {
  SharedFiles shared;
  shared.opencl = options.opencl;
  shared.state = count.substr(0, count.find_last_of('/'));
  const base::Settings settings = base::load(base::process_environment()).settings;
  if (settings.registry.starts_with('/')) shared.registry = settings.registry;
  std::vector<Endpoint> endpoints = options.listen;
  if (endpoints.empty()) endpoints.push_back(default_endpoint());
  for (const Endpoint& each : endpoints) {
    if (each.address.kind == base::Address::Kind::unix_socket) shared.sockets.push_back(each.address.path);
  }
  for (const std::string& secret : {options.token_file, options.clients_file,
                                    options.tls.key.empty() ? options.tls.certificate : options.tls.key}) {
    if (!secret.empty()) shared.secrets.push_back(secret);
  }
  if (!options.trace.empty()) shared.private_folders.push_back(options.trace);
  return shared;
}

}  // namespace cleave::remote::server
