// The supervisor's part in a broker's life.
#include "remote/server/supervisor/worker_brokers.h"

#include <csignal>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/kit/eventually.h"

namespace cleave::remote::server {
namespace {

// One that does nothing, and the pipe where it would say that it lives.
struct QuietBroker {
  QuietBroker() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    broker.life = base::FileDescriptor(ends[0]);
    sign = base::FileDescriptor(ends[1]);
    broker.process = fork();
    if (broker.process == 0) {
      for (;;) pause();
    }
  }
  ~QuietBroker() {
    kill(broker.process, SIGKILL);
    waitpid(broker.process, nullptr, 0);
  }
  [[nodiscard]] bool shows_life(const std::string& signs) const {
    return write(sign.get(), signs.data(), signs.size()) == static_cast<ssize_t>(signs.size());
  }

  WorkerBroker broker;
  base::FileDescriptor sign;
};

TEST(WorkerBrokersTest, OneThatIsStoppedIsEnded) {
  QuietBroker stopped;
  kill(stopped.broker.process, SIGSTOP);
  unsigned looks = 1;
  while (!WorkerBrokers::end_if_silent(stopped.broker)) ASSERT_LE(++looks, WorkerBrokers::kMostSilentLooks);
  EXPECT_EQ(looks, WorkerBrokers::kMostSilentLooks);
  EXPECT_TRUE(kit::eventually([&] {
    return WorkerBrokers::new_end(stopped.broker) == WorkerBrokers::End::failed;
  })) << "so that a client with limits is disconnected";
  EXPECT_FALSE(WorkerBrokers::end_if_silent(stopped.broker)) << "it is said once";
}

TEST(WorkerBrokersTest, OneThatShowsLifeIsNot) {
  QuietBroker living;
  for (unsigned look = 0; look < 10 * WorkerBrokers::kMostSilentLooks; ++look) {
    if (look % WorkerBrokers::kMostSilentLooks == 0) {
      ASSERT_TRUE(living.shows_life(std::string(look + 1, 'l')));
    }
    EXPECT_FALSE(WorkerBrokers::end_if_silent(living.broker));
  }
}

TEST(WorkerBrokersTest, NoBrokerIsNotEnded) {
  WorkerBroker none;
  for (unsigned look = 0; look < 2 * WorkerBrokers::kMostSilentLooks; ++look)
    EXPECT_FALSE(WorkerBrokers::end_if_silent(none));
}

}  // namespace
}  // namespace cleave::remote::server
