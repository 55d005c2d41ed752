// A server for clients that do not keep to the protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {

// Afterwards the server has not crashed, and serves the next client.
class HostileClient : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 4096;  // of the objects

  HostileClient() : server_({"--max-clients", "64"}), endpoint_(server_.endpoint()) {}
  ~HostileClient() override {
    RawClient next(endpoint_);
    EXPECT_TRUE(next.begin());
    EXPECT_EQ(server_.log().find("crashed"), std::string::npos) << server_.log();
  }

  std::unique_ptr<RawClient> ready() {
    auto client = std::make_unique<RawClient>(endpoint_);
    EXPECT_TRUE(client->begin());
    client->create_objects(kSize);
    return client;
  }

  // The commands that `add` adds end the connection.
  template <typename Add>
  void expect_violation(const char* what, Add add) {
    const auto client = ready();
    add(*client);
    EXPECT_TRUE(client->is_rejected()) << what;
  }

  // A connection of which these bytes are all.
  void expect_closed_after(const std::string& bytes) const {
    RawClient client(endpoint_);
    client.send_bytes(bytes.data(), bytes.size());
    ::shutdown(client.stream->descriptor(), SHUT_WR);
    EXPECT_TRUE(client.connection_closes());
  }

  ServerProcess server_;
  const Endpoint endpoint_;
};

}  // namespace cleave::remote
