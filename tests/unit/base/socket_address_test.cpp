#include "base/socket_address.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>
#include <linux/vm_sockets.h>
#include <sys/un.h>

#include <netinet/in.h>

namespace cleave::base {
namespace {

std::string path_in(const SocketAddress& address) {
  const auto& name = reinterpret_cast<const sockaddr_un&>(address.storage);
  return {name.sun_path, address.size - offsetof(sockaddr_un, sun_path)};
}

std::vector<SocketAddress> resolved(const std::string& text) {
  std::string problem;
  std::vector<SocketAddress> found = resolve(*parse_address(text), problem);
  EXPECT_EQ(found.empty(), !problem.empty()) << problem;
  return found;
}

TEST(SocketAddress, UnixPathEndsWithAZeroAndAnAbstractNameBeginsWithOne) {
  EXPECT_EQ(path_in(unix_address("/run/a")), std::string("/run/a\0", 7));
  EXPECT_EQ(path_in(unix_address("@name")), std::string("\0name", 5));
  EXPECT_EQ(path_in(unix_address("/" + std::string(200, 'x'))), "/" + std::string(106, 'x') + '\0');
  EXPECT_EQ(path_in(resolved("unix:@name").at(0)), std::string("\0name", 5));
}

TEST(SocketAddress, LoopbackHasManyForms) {
  for (const char* text : {"unix:/run/a", "unix:@name", "tcp:127.0.0.1:1", "tcp:127.9.8.7:1", "tcp:[::1]:1",
                           "tcp:[::ffff:127.0.0.1]:1", "tcp:[::ffff:127.1.2.3]:1", "vsock:1:1"}) {
    EXPECT_TRUE(is_loopback(resolved(text).at(0))) << text;
  }
  for (const char* text : {"tcp:128.0.0.1:1", "tcp:10.0.0.127:1", "tcp:[::2]:1", "tcp:[::ffff:10.0.0.1]:1",
                           "tcp:[fe80::1]:1", "tcp:0.0.0.0:1", "vsock:2:1"}) {
    EXPECT_FALSE(is_loopback(resolved(text).at(0))) << text;
  }
  EXPECT_FALSE(is_loopback({}));
}

TEST(SocketAddress, VsockHasCidAndPort) {
  const SocketAddress address = resolved("vsock:5:27460").at(0);
  const auto& name = reinterpret_cast<const sockaddr_vm&>(address.storage);
  EXPECT_EQ(name.svm_family, AF_VSOCK);
  EXPECT_EQ(name.svm_cid, 5U);
  EXPECT_EQ(name.svm_port, 27460U);
  EXPECT_EQ(address.size, sizeof name);
}

TEST(SocketAddress, TcpHostsAreLookedUp) {
  const SocketAddress address = resolved("tcp:127.0.0.1:27460").at(0);
  const auto& name = reinterpret_cast<const sockaddr_in&>(address.storage);
  EXPECT_EQ(name.sin_family, AF_INET);
  EXPECT_EQ(ntohs(name.sin_port), 27460);
  EXPECT_EQ(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK);
  EXPECT_EQ(resolved("tcp:[::1]:1").at(0).storage.ss_family, AF_INET6);
  EXPECT_TRUE(resolved("tcp:name.invalid:1").empty());
}

}  // namespace
}  // namespace cleave::base
