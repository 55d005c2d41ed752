// Contents that another server fetches, or that a client would have the server fetch from where it must not: written by hand.
#include <array>
#include <chrono>
#include <cstring>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "remote/transport/ticket.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::uint64_t kContentsSize = (std::uint64_t{4} << 20U) + 3;  // two parts
constexpr std::uint64_t kFeatures = bit(Feature::offers) | bit(Feature::fetches);

// Another server's connection, with a ticket.
class RawPeer {
 public:
  RawPeer(const Endpoint& endpoint, const Ticket& ticket) : client_(endpoint), ticket_(ticket) {}

  // Whether the server proves that it knows the key.
  bool open() {
    const auto* const id = reinterpret_cast<const std::uint8_t*>(ticket_.id.data());
    const auto* const nonce = reinterpret_cast<const std::uint8_t*>(nonce_.data());
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreatePeer(builder, 1, builder.CreateVector(id, ticket_.id.size()),
                                    builder.CreateVector(nonce, nonce_.size())));
    FrameHeader header;
    if (!send(builder) || client_.input->next(header, RawClient::deadline()) != ReadStatus::data)
      return false;
    const auto* const answer = verified_peer(client_.input->message());
    if (header.kind != FrameKind::peer || answer == nullptr || answer->nonce()->size() != 32) return false;
    std::memcpy(theirs_.data(), answer->nonce()->data(), 32);
    return is_proven(prove(ticket_, TransferRole::source, nonce_, theirs_),
                     std::as_bytes(std::span(answer->proof()->data(), answer->proof()->size())));
  }
  bool send_proof(const Ticket& ticket) {
    const auto proof = prove(ticket, TransferRole::target, nonce_, theirs_);
    flatbuffers::FlatBufferBuilder builder;
    const auto* const data = reinterpret_cast<const std::uint8_t*>(proof->data());
    builder.Finish(wire::CreatePeer(builder, 1, 0, 0, builder.CreateVector(data, proof->size())));
    return send(builder);
  }
  // All that comes until the connection ends, without the headers of parts.
  std::vector<std::byte> contents() {
    std::vector<std::byte> all;
    std::array<std::byte, 4> header{};
    while (read(header)) {
      const auto size =
          std::to_integer<std::uint32_t>(header[0]) | std::to_integer<std::uint32_t>(header[1]) << 8U |
          std::to_integer<std::uint32_t>(header[2]) << 16U | std::to_integer<std::uint32_t>(header[3]) << 24U;
      std::vector<std::byte> part(size);
      if (!read(part)) break;
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  bool is_refused() { return client_.connection_closes(); }

 private:
  bool send(const flatbuffers::FlatBufferBuilder& builder) {
    return write_frame(*client_.stream, FrameKind::peer,
                       std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), {},
                       RawClient::kTimeout);
  }
  bool read(std::span<std::byte> into) {
    while (!into.empty()) {
      std::size_t size = 0;
      if (client_.stream->read(into, size, RawClient::deadline()) != ReadStatus::data) return false;
      into = into.subspan(size);
    }
    return true;
  }

  RawClient client_;
  const Ticket ticket_;
  const Nonce nonce_ = *make_nonce();
  Nonce theirs_{};
};

class Peers : public testing::Test {
 protected:
  Peers() {
    data_.resize(kContentsSize);
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<std::byte>(i * 7 + i / 4096);
  }
  ~Peers() override { EXPECT_EQ(server_.log().find("crashed"), std::string::npos) << server_.log(); }

  // A client whose buffer has the contents.
  std::unique_ptr<RawClient> ready() {
    auto client = std::make_unique<RawClient>(server_.endpoint());
    EXPECT_TRUE(client->begin({.features = kFeatures})) << client->problem;
    client->create_objects(kContentsSize);
    client->add({.request = 1, .queue = kQueue, .payload = data_.size(), .at_end = true},
                wire::CreateWriteBuffer(client->builder, kBuffer, 0, data_.size()));
    client->add({.request = 2, .queue = kQueue}, wire::CreateFinishQueue(client->builder));
    EXPECT_TRUE(client->send({{data_}}));
    EXPECT_EQ(client->error_of(2), CL_SUCCESS);
    return client;
  }
  static Ticket offer(RawClient& client, std::uint32_t request) {
    client.add({.request = request},
               wire::CreateOfferContents(client.builder, kQueue, kBuffer, 0, kContentsSize));
    client.send();
    EXPECT_EQ(client.error_of(request), CL_SUCCESS);
    const std::string& bytes = client.received.texts[request];
    const auto ticket = read_ticket(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(ticket) << bytes.size();
    return ticket.value_or(Ticket{});
  }
  static std::optional<int> fetch(RawClient& client, std::uint32_t request, const std::string& address,
                                  const Ticket& ticket = {}) {
    const std::string bytes = as_bytes(ticket);
    client.add(
        {.request = request},
        wire::CreateFetchContents(
            client.builder, kQueue, kBuffer, 0, kContentsSize,
            client.builder.CreateVectorOfStrings(std::vector<std::string>{address}),
            client.builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())));
    client.send();
    return client.error_of(request);
  }

  ServerProcess server_{{"--peers", "tcp:127.0.0.2:9"}};
  std::vector<std::byte> data_;
};

TEST_F(Peers, TicketIsGoodForOneTransfer) {
  const auto client = ready();
  const Ticket ticket = offer(*client, 3);
  RawPeer peer(server_.endpoint(), ticket);
  RawPeer second(server_.endpoint(), ticket);
  ASSERT_TRUE(peer.open());
  ASSERT_TRUE(second.open());
  ASSERT_TRUE(peer.send_proof(ticket));
  EXPECT_EQ(peer.contents(), data_);
  ASSERT_TRUE(second.send_proof(ticket));
  EXPECT_TRUE(second.is_refused());
  EXPECT_TRUE(server_.logs("a server's ticket has just been used"));
  RawPeer third(server_.endpoint(), ticket);
  EXPECT_FALSE(third.open());
  EXPECT_TRUE(server_.logs("a server has a ticket that is unknown, used or too old"));
}

TEST_F(Peers, WhoDoesNotKnowTheKeyGetsNothingAndUsesNothingUp) {
  const auto client = ready();
  const Ticket ticket = offer(*client, 3);
  Ticket wrong = *make_ticket();
  wrong.id = ticket.id;  // it has listened
  RawPeer stranger(server_.endpoint(), wrong);
  EXPECT_FALSE(stranger.open()) << "the server's proof is of another key";
  EXPECT_TRUE(stranger.send_proof(wrong));
  EXPECT_TRUE(stranger.is_refused());
  EXPECT_TRUE(server_.logs("a server does not know the key of its ticket"));
  RawPeer peer(server_.endpoint(), ticket);
  ASSERT_TRUE(peer.open());
  ASSERT_TRUE(peer.send_proof(ticket));
  EXPECT_EQ(peer.contents(), data_);
}

TEST_F(Peers, TicketsEndWithTheirClient) {
  auto client = ready();
  const Ticket ticket = offer(*client, 3);
  client.reset();
  EXPECT_TRUE(server_.logs("disconnected"));
  RawPeer peer(server_.endpoint(), ticket);
  ASSERT_TRUE(peer.open());
  ASSERT_TRUE(peer.send_proof(ticket));
  EXPECT_TRUE(peer.contents().empty());
}

TEST_F(Peers, OnlyListedServersAreConnectedTo) {
  const auto client = ready();
  std::uint32_t request = 20;
  for (const char* const address :
       {"tcp:127.0.0.1:9", "tcp:127.0.0.2:10", "tls:127.0.0.2:9", "tcp:localhost:9",
        "unix:/run/dbus/system_bus_socket", "", "tcp:127.0.0.2"})
    EXPECT_EQ(fetch(*client, ++request, address), CL_INVALID_OPERATION) << address;
  EXPECT_EQ(server_.count_of("none of its addresses is of a server that --peers names"), 7U) << server_.log();
  EXPECT_EQ(fetch(*client, 11, "tcp:127.0.0.2:9"), CL_INVALID_OPERATION);
  EXPECT_EQ(server_.count_of("no server there"), 1U) << server_.log();
  EXPECT_EQ(client->read(12, kContentsSize), CL_SUCCESS);
  EXPECT_EQ(client->received.data[12], data_) << "nothing has been written";
}

TEST_F(Peers, WhatDoesNotExistIsNoContents) {
  const auto client = ready();
  auto& b = client->builder;
  client->add({.request = 3}, wire::CreateOfferContents(b, kQueue, kBuffer, 1, kContentsSize));
  client->add({.request = 4}, wire::CreateOfferContents(b, kQueue, kBuffer, 0, 0));
  client->add({.request = 5}, wire::CreateOfferContents(b, kQueue, 99, 0, 1));
  client->add({.request = 6}, wire::CreateOfferContents(b, kBuffer, kBuffer, 0, 1));
  client->add({.request = 7}, wire::CreateOfferContents(b, kQueue, kBuffer, UINT64_MAX, 2));
  client->add({.request = 8}, wire::CreateFetchContents(b, kQueue, kBuffer, 0, 1));
  client->send();
  const std::array expected{CL_INVALID_VALUE,         CL_INVALID_VALUE, CL_INVALID_MEM_OBJECT,
                            CL_INVALID_COMMAND_QUEUE, CL_INVALID_VALUE, CL_INVALID_VALUE};
  for (std::uint32_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(client->error_of(3 + i), expected[i]) << 3 + i;
}

TEST_F(Peers, OffersAreLimited) {
  const auto client = ready();
  constexpr std::uint32_t kMany = 40;
  for (std::uint32_t i = 0; i < kMany; ++i)
    client->add({.request = 100 + i}, wire::CreateOfferContents(client->builder, kQueue, kBuffer, 0, 1));
  client->send();
  std::uint32_t good = 0;
  for (std::uint32_t i = 0; i < kMany; ++i) good += client->error_of(100 + i) == CL_SUCCESS ? 1 : 0;
  EXPECT_EQ(good, 16U);
}

TEST_F(Peers, WithoutARequestForAnAnswerIsAViolation) {
  const auto client = ready();
  client->add({}, wire::CreateOfferContents(client->builder, kQueue, kBuffer, 0, 1));
  EXPECT_TRUE(client->is_rejected());
}

TEST_F(Peers, GarbageInsteadOfAnOpeningIsRefused) {
  RawClient client(server_.endpoint());
  const std::array<std::byte, 64> garbage{};
  ASSERT_TRUE(write_frame(*client.stream, FrameKind::peer, garbage, {}, RawClient::kTimeout));
  EXPECT_TRUE(client.connection_closes());
  const auto other = ready();  // others are served
}

TEST(PeerFeatures, FetchesAreOfferedOnlyWhereTheOperatorListsServers) {
  ServerProcess server;
  RawClient client(server.endpoint());
  const auto* const welcome = client.greet({.features = kFeatures});
  ASSERT_NE(welcome, nullptr);
  EXPECT_EQ(welcome->features(), bit(Feature::offers));
}

}  // namespace
}  // namespace cleave::remote
