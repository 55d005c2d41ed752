#include "monitor/hypervisor/libvirt_uri.h"

#include <gtest/gtest.h>

namespace cleave::monitor {
namespace {

constexpr const char* kOwn = "Node7.example.org";

TEST(LibvirtUri, DomainsOfThisHostStallLikeIt) {
  for (const char* uri :
       {"qemu:///system", "qemu+unix:///session?socket=/a+b", "test:///default", "lxc:///",
        "qemu+tls:///system", "qemu+ssh://localhost/system", "qemu://LOCALHOST/system",
        "qemu+tcp://127.0.0.1:16509/system", "qemu+tcp://127.8.9.1/system", "qemu+tcp://[::1]/system",
        "qemu+tls://[::1]:16514/system", "qemu+tcp://[::ffff:127.0.0.1]/system",
        "qemu+ssh://root@localhost:22/system", "qemu+ssh://node7.example.org/system",
        "qemu+libssh2://me@node7/system", "qemu+ssh://localhost"}) {
    EXPECT_TRUE(stalls_like_this_host(uri, kOwn)) << uri;
  }
}

TEST(LibvirtUri, DomainsElsewhereDoNot) {
  for (const char* uri :
       {"qemu+ssh://host/system", "qemu://host/system", "qemu+tcp://128.0.0.1/system",
        "qemu+tcp://[::2]/system", "qemu+tcp://[fe80::1]/system", "qemu+ssh://localhost@host/system",
        "qemu+ssh://localhost.example.org/system", "qemu+ssh://node7.example.com/system",
        "qemu+ssh://node/system", "qemu+ssh://127.0.0.1.example.org/system", "qemu+ssh://host/localhost",
        "qemu+ext:///system?command=/x", "xen:///system", "xen+unix:///system", "xen+ssh://localhost/system",
        "x", "", "qemu+tcp://[/system"}) {
    EXPECT_FALSE(stalls_like_this_host(uri, kOwn)) << uri;
  }
}

TEST(LibvirtUri, HostWithoutANameHasNone) {
  EXPECT_FALSE(stalls_like_this_host("qemu+ssh://node7/system", ""));
  EXPECT_TRUE(stalls_like_this_host("qemu+ssh://localhost/system", ""));
}

TEST(LibvirtUri, KnowsTheOwnHost) {
  ASSERT_NE(own_host_name(), "");
  EXPECT_TRUE(stalls_like_this_host("qemu+ssh://" + own_host_name() + "/system"));
}

}  // namespace
}  // namespace cleave::monitor
