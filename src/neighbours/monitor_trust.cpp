#include "neighbours/monitor_trust.h"

#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

namespace cleave::neighbours {
namespace {

using base::Address;
using base::MonitorTrust;

constexpr std::uint32_t kFirstUnprivilegedPort = 1024;

bool owns_folder(uid_t user, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (path.starts_with('@') || slash == std::string::npos) return false;
  struct stat status {};
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  return stat(folder.c_str(), &status) == 0 && status.st_uid == user;
}

std::string distrust_of_user(int socket, const std::string& path, MonitorTrust trust) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "is of an unknown user";
  if (peer.uid == 0 || peer.uid == geteuid()) return {};
  if (trust == MonitorTrust::owner && owns_folder(peer.uid, path)) return {};
  return "is of user " + std::to_string(peer.uid);
}

}  // namespace

std::string reason_for_distrust(int socket, const Address& address, MonitorTrust trust) {
  if (trust == MonitorTrust::any) return {};
  if (address.kind == Address::Kind::unix_socket) return distrust_of_user(socket, address.path, trust);
  if (trust == MonitorTrust::owner) return {};
  if (address.kind == Address::Kind::tcp) return "may be anybody's";
  const bool of_host = address.cid <= Address::kHostCid;
  if (of_host && address.port < kFirstUnprivilegedPort) return {};
  return of_host ? "may be of any user of the host, since its port is not below 1024" : "is not on the host";
}

}  // namespace cleave::neighbours
