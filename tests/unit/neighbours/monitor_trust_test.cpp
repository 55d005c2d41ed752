#include "neighbours/monitor_trust.h"

#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/files/file_descriptor.h"
#include "neighbours/monitor_source.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::neighbours {
namespace {

using base::MonitorTrust;
using namespace std::chrono_literals;

constexpr uid_t kStranger = 54'321;

base::Address address(const std::string& text) { return *base::parse_address(text); }

// A listening socket at a path, of another user if this process may play one.
class Listener {
 public:
  Listener(std::string path, uid_t user) : path_(std::move(path)), socket_(make_socket()) {
    const sockaddr_un place = place_of(path_);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(chmod(path_.c_str(), 0666), 0);
    const uid_t self = geteuid();
    EXPECT_EQ(seteuid(user), 0);
    EXPECT_EQ(listen(socket_.get(), 4), 0);
    EXPECT_EQ(seteuid(self), 0);
  }

  [[nodiscard]] base::Address address() const { return neighbours::address("unix:" + path_); }

  [[nodiscard]] base::FileDescriptor client() const {
    base::FileDescriptor client = make_socket();
    const sockaddr_un place = place_of(path_);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    return client;
  }

 private:
  static base::FileDescriptor make_socket() {
    return base::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  static sockaddr_un place_of(const std::string& path) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    path.copy(place.sun_path, sizeof place.sun_path - 1);
    return place;
  }

  std::string path_;
  base::FileDescriptor socket_;
};

class MonitorTrustOfUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
    ASSERT_EQ(mkdir(folder.file("run").c_str(), 0755), 0);
  }
  static std::string reason(const Listener& listener, MonitorTrust trust) {
    return reason_for_distrust(listener.client().get(), listener.address(), trust);
  }
  kit::TemporaryFolder folder;
};

TEST_F(MonitorTrustOfUsers, StrangersSocketInAFolderOfOthersIsNotBelieved) {
  const Listener stranger(folder.file("run/socket"), kStranger);
  EXPECT_EQ(reason(stranger, MonitorTrust::owner), "is of user 54321");
  EXPECT_EQ(reason(stranger, MonitorTrust::system), "is of user 54321");
  EXPECT_EQ(reason(stranger, MonitorTrust::any), "");
}

TEST_F(MonitorTrustOfUsers, ServiceInItsOwnFolderIsBelieved) {
  ASSERT_EQ(chown(folder.file("run").c_str(), kStranger, kStranger), 0);
  const Listener service(folder.file("run/socket"), kStranger);
  EXPECT_EQ(reason(service, MonitorTrust::owner), "");
  EXPECT_EQ(reason(service, MonitorTrust::system), "is of user 54321");
}

TEST_F(MonitorTrustOfUsers, MonitorSourceDoesNotListenToAStranger) {
  const Listener stranger(folder.file("run/socket"), kStranger);
  MonitorSource source({stranger.address()}, false, 1);
  source.step(1s);
  EXPECT_EQ(source.state(), "unreachable");
  EXPECT_EQ(source.take_warning(),
            "neighbours.source: " + as_text(stranger.address()) +
                " is of user 54321 and is not believed: name another, or add trust:any to CLEAVE_NEIGHBOURS");
  MonitorSource trusting({stranger.address()}, false, 1, base::Nanoseconds::max(), MonitorTrust::any);
  trusting.step(1s);
  EXPECT_EQ(trusting.state(), "connecting");
}

TEST(MonitorTrust, OwnSocketIsBelieved) {
  const kit::TemporaryFolder folder;
  const Listener own(folder.file("socket"), geteuid());
  for (const auto trust : {MonitorTrust::system, MonitorTrust::owner})
    EXPECT_EQ(reason_for_distrust(own.client().get(), own.address(), trust), "");
}

TEST(MonitorTrust, OfTheHostOnlyPrivilegedPortsAreTheSystems) {
  const auto reason = [](const char* at, MonitorTrust trust) {
    return reason_for_distrust(-1, address(at), trust);
  };
  EXPECT_EQ(reason("vsock:host:27460", MonitorTrust::owner), "");
  EXPECT_EQ(reason("vsock:host:27460", MonitorTrust::system),
            "may be of any user of the host, since its port is not below 1024");
  EXPECT_EQ(reason("vsock:host:746", MonitorTrust::system), "");
  EXPECT_EQ(reason("vsock:7:746", MonitorTrust::system), "is not on the host");
  EXPECT_EQ(reason("tcp:127.0.0.1:746", MonitorTrust::system), "may be anybody's");
  EXPECT_EQ(reason("tcp:127.0.0.1:746", MonitorTrust::owner), "");
}

}  // namespace
}  // namespace cleave::neighbours
