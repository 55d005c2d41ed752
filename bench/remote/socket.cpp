#include "socket.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace cleave::bench {
namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(2);
}

struct Pair {
  int ours;
  int theirs;
};

Pair connect_tcp() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  require(
      bind(listener, name, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, name, &size) == 0,
      "listen");
  Pair pair{socket(AF_INET, SOCK_STREAM, 0), -1};
  require(connect(pair.ours, name, size) == 0, "connect");
  pair.theirs = accept(listener, nullptr, nullptr);
  const int on = 1;
  for (const int end : {pair.ours, pair.theirs}) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  close(listener);
  return pair;
}

Pair connect_pair(SocketKind kind) {
  if (kind == SocketKind::tcp) return connect_tcp();
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  return {ends[0], ends[1]};
}

bool put(int socket, const std::vector<char>& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

bool get(int socket, std::vector<char>& bytes) {
  for (std::size_t came = 0; came < bytes.size();) {
    const ssize_t now = recv(socket, bytes.data() + came, bytes.size() - came, 0);
    if (now <= 0) return false;
    came += static_cast<std::size_t>(now);
  }
  return true;
}

}  // namespace

double exchange(SocketKind kind, std::size_t bytes, bool back, unsigned repeats) {
  const Pair pair = connect_pair(kind);
  std::vector<char> there(back ? 1 : bytes, 'x');
  std::vector<char> here(back ? bytes : 1, 'x');
  const pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    close(pair.ours);
    while (get(pair.theirs, there) && put(pair.theirs, here)) {
    }
    _exit(0);
  }
  close(pair.theirs);
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats + 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    require(put(pair.ours, there) && get(pair.ours, here), "exchange");
    if (i >= 3)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  close(pair.ours);
  waitpid(child, nullptr, 0);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace cleave::bench
