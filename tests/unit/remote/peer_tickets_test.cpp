// Tickets for contents that go from one server to another, who may be connected to, and how servers prove what they may have.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "remote/protocol/verify.h"
#include "remote/server/options/peer_list.h"
#include "remote/server/peers/peer_handshake.h"
#include "remote/server/peers/ticket_store.h"

namespace cleave::remote::server {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kHandshakePatience{20};

std::string hex(const TicketProof& proof) {
  std::string text;
  for (const std::byte each : proof) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(each) >> 4U];
    text += kDigits[std::to_integer<unsigned>(each) & 15U];
  }
  return text;
}

// Computed by Python's hmac.
TEST(Tickets, ProofIsWhatTheProtocolSays) {
  Ticket ticket;
  for (std::size_t i = 0; i < ticket.id.size(); ++i) ticket.id[i] = static_cast<std::byte>(i);
  for (std::size_t i = 0; i < ticket.key.size(); ++i) ticket.key[i] = static_cast<std::byte>(100 + i);
  Nonce target;
  Nonce source;
  target.fill(std::byte{7});
  source.fill(std::byte{9});
  EXPECT_EQ(hex(*prove(ticket, TransferRole::source, target, source)),
            "b80252c0a628def29519fb5872b3a4e9a2a970c69f80bdbbe88c8a015b07e5e0");
  EXPECT_EQ(hex(*prove(ticket, TransferRole::target, target, source)),
            "96ec5d3239c275dfea32b5b1abb6bbd63c559f483bbfd5e84bf9dc3413c86552");
}

TEST(Tickets, ProofIsForOneTicketAndOneConnection) {
  const Ticket ticket = *make_ticket();
  const Nonce target = *make_nonce();
  const Nonce source = *make_nonce();
  const auto proof = prove(ticket, TransferRole::target, target, source);
  EXPECT_TRUE(is_proven(proof, *prove(ticket, TransferRole::target, target, source)));
  EXPECT_FALSE(is_proven(proof, *prove(ticket, TransferRole::source, target, source))) << "reflected";
  EXPECT_FALSE(is_proven(proof, *prove(ticket, TransferRole::target, target, *make_nonce()))) << "replayed";
  EXPECT_FALSE(is_proven(proof, *prove(*make_ticket(), TransferRole::target, target, source)));
  Ticket other_key = *make_ticket();
  other_key.id = ticket.id;
  EXPECT_FALSE(is_proven(proof, *prove(other_key, TransferRole::target, target, source)));
  EXPECT_FALSE(is_proven(proof, std::span(*proof).first(31)));
  EXPECT_FALSE(is_proven(proof, {}));
  EXPECT_FALSE(is_proven(std::nullopt, {}));
}

TEST(Tickets, BytesRoundTrip) {
  const Ticket ticket = *make_ticket();
  const std::string bytes = as_bytes(ticket);
  EXPECT_EQ(bytes.size(), kTicketSize);
  EXPECT_EQ(read_ticket(std::as_bytes(std::span(bytes))), ticket);
  EXPECT_FALSE(read_ticket(std::as_bytes(std::span(bytes).first(47))));
  EXPECT_NE(*make_ticket(), ticket);
}

TEST(TicketStore, TicketIsGoodOnce) {
  TicketStore store;
  const Time now{};
  const Ticket ticket = *store.add({5, 7}, now);
  EXPECT_EQ(store.find(ticket.id, now), ticket);
  EXPECT_EQ(store.find(ticket.id, now), ticket) << "who does not know the key uses nothing up";
  EXPECT_EQ(store.redeem(ticket.id, now), (OfferedContents{5, 7}));
  EXPECT_EQ(store.redeem(ticket.id, now), std::nullopt);
  EXPECT_EQ(store.find(ticket.id, now), std::nullopt);
  EXPECT_EQ(store.find(TicketId{}, now), std::nullopt);
}

TEST(TicketStore, TicketBecomesTooOld) {
  TicketStore store;
  const Time now{};
  const Ticket ticket = *store.add({1, 1}, now);
  const Ticket second = *store.add({1, 2}, now + 1s);
  EXPECT_TRUE(store.find(ticket.id, now + kTicketTime - 1ms));
  EXPECT_FALSE(store.find(ticket.id, now + kTicketTime));
  EXPECT_FALSE(store.redeem(ticket.id, now + kTicketTime));
  EXPECT_TRUE(store.redeem(second.id, now + kTicketTime));
  store.add({1, 3}, now);
  store.add({1, 4}, now + kTicketTime);
  EXPECT_EQ(store.size(), 1U) << "what is too old is forgotten";
}

TEST(TicketStore, WorkerHasAShare) {
  TicketStore store;
  const Time now{};
  const Ticket others = *store.add({2, 1}, now);
  const Ticket oldest = *store.add({1, 0}, now);
  for (std::uint32_t i = 1; i < kMaxOffers; ++i) store.add({1, i}, now + 1ms);
  EXPECT_TRUE(store.find(oldest.id, now));
  const Ticket newest = *store.add({1, 99}, now + 2ms);
  EXPECT_FALSE(store.find(oldest.id, now));
  EXPECT_TRUE(store.find(newest.id, now));
  EXPECT_TRUE(store.find(others.id, now));
  EXPECT_EQ(store.size(), 1 + kMaxOffers);
}

bool is_permitted(const PeerList& list, const char* address) { return list.permits(*read_endpoint(address)); }

TEST(PeerList, PermitsNothingByItself) {
  const PeerList list;
  EXPECT_TRUE(list.empty());
  for (const char* address : {"tcp:127.0.0.1:27461", "tls:host:27461", "unix:/run/socket", "vsock:host:1"})
    EXPECT_FALSE(is_permitted(list, address)) << address;
}

TEST(PeerList, PermitsWhatIsListed) {
  PeerList list;
  for (const char* each : {"tcp:10.1.2.3", "tls:GPU2.example:999", "tcp:[fd00::5]:4", "tls:172.16.0.0/12",
                           "tcp:[fd01::]/16:8", "tcp:192.168.1.128/25:80"})
    EXPECT_TRUE(list.add(each)) << each;
  EXPECT_FALSE(list.empty());
  for (const char* address :
       {"tcp:10.1.2.3:27461", "tcp:[::ffff:10.1.2.3]:27461", "tls:gpu2.EXAMPLE:999", "tcp:[fd00:0::5]:4",
        "tls:172.16.0.1:27461", "tls:172.31.255.255", "tcp:[fd01:1234::1]:8", "tcp:192.168.1.200:80"})
    EXPECT_TRUE(is_permitted(list, address)) << address;
  for (const char* address :
       {"tls:10.1.2.3:27461", "tcp:10.1.2.3:22", "tcp:10.1.2.4:27461", "tcp:gpu2.example:999",
        "tls:gpu2.example:27461", "tls:gpu3.example:999", "tls:172.32.0.1:27461", "tls:172.15.255.255:27461",
        "tcp:[fd02::1]:8", "tcp:192.168.1.127:80", "tls:172.16.1:27461", "tls:0xac100001:27461",
        "tls:2886729729:27461", "tcp:127.0.0.1:27461", "unix:/run/socket", "vsock:2:27461"})
    EXPECT_FALSE(is_permitted(list, address)) << address;
}

TEST(PeerList, AllOfOneKind) {
  PeerList list;
  EXPECT_TRUE(list.add("tcp:0.0.0.0/0"));
  EXPECT_TRUE(is_permitted(list, "tcp:8.8.8.8:27461"));
  EXPECT_FALSE(is_permitted(list, "tcp:[2001:db8::1]:27461"));
  EXPECT_FALSE(is_permitted(list, "tcp:a.name:27461")) << "names are not looked up";
}

TEST(PeerList, WhatIsNoAddressIsRefused) {
  PeerList list;
  for (const char* text : {"", "10.1.2.3", "unix:/run/socket", "vsock:2:27461", "tcp:", "tcp:host/8",
                           "tcp:10.0.0.0/33", "tcp:10.0.0.0/", "tcp:10.0.0.0/x", "tcp:10.0.0.0/8:port",
                           "tcp:[fd00::]/129", "tcp:10.0.0.0/-1", "tcp:host:0", "tcp:host:70000"})
    EXPECT_FALSE(list.add(text)) << text;
  EXPECT_TRUE(list.empty());
}

// The target and the source, each with its end of a connection.
class PeerHandshake : public testing::Test {
 protected:
  PeerHandshake() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    target_ = make_socket_stream(ends[0]);
    source_ = make_socket_stream(ends[1]);
  }
  static Time deadline() { return std::chrono::steady_clock::now() + kHandshakePatience; }

  // The source's part, with that ticket; then it closes. Why it refuses; empty: it does not.
  std::string serve(const Ticket& ticket) {
    const auto input = std::make_unique<FrameReader>(*source_, kHandshakePatience);
    FrameHeader header;
    std::string why = "no opening";
    if (input->next(header, deadline()) != ReadStatus::data || header.kind != FrameKind::peer) return why;
    const auto opening = read_opening(input->message());
    if (opening && check_version(*source_, *opening, why) && opening->ticket == ticket.id &&
        check_target(*source_, *input, ticket, *opening, deadline(), why))
      why.clear();
    source_->shutdown();
    return why;
  }
  bool send_to(Stream& stream, const flatbuffers::FlatBufferBuilder& builder) {
    return write_frame(stream, FrameKind::peer,
                       std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), {},
                       kHandshakePatience);
  }

  const Ticket ticket_ = *make_ticket();
  std::unique_ptr<Stream> target_;
  std::unique_ptr<Stream> source_;
};

TEST_F(PeerHandshake, BothKnowTheKey) {
  std::string refusal;
  std::thread source([&] { refusal = serve(ticket_); });
  std::string why;
  EXPECT_TRUE(present_ticket(*target_, ticket_, deadline(), why)) << why;
  source.join();
  EXPECT_EQ(refusal, "");
}

TEST_F(PeerHandshake, SourceThatDoesNotKnowTheKeyIsNotBelieved) {
  Ticket wrong = *make_ticket();
  wrong.id = ticket_.id;
  std::thread source([&] { serve(wrong); });
  std::string why;
  EXPECT_FALSE(present_ticket(*target_, ticket_, deadline(), why));
  EXPECT_EQ(why, "it does not know the ticket's key");
  target_->shutdown();
  source.join();
}

TEST_F(PeerHandshake, TargetThatDoesNotKnowTheKeyGetsNothing) {
  std::string refusal;
  std::thread source([&] { refusal = serve(ticket_); });
  flatbuffers::FlatBufferBuilder opening;
  const std::vector<std::uint8_t> nonce(32, 1);
  const auto* const id = reinterpret_cast<const std::uint8_t*>(ticket_.id.data());
  opening.Finish(
      wire::CreatePeer(opening, 1, opening.CreateVector(id, ticket_.id.size()), opening.CreateVector(nonce)));
  ASSERT_TRUE(send_to(*target_, opening));
  const auto input = std::make_unique<FrameReader>(*target_, kHandshakePatience);
  FrameHeader header;
  ASSERT_EQ(input->next(header, deadline()), ReadStatus::data);
  const wire::Peer* const answer = verified_peer(input->message());
  ASSERT_NE(answer, nullptr);
  // The source's own proof, sent back.
  flatbuffers::FlatBufferBuilder proof;
  proof.Finish(wire::CreatePeer(proof, 1, 0, 0, proof.CreateVector(answer->proof()->data(), 32)));
  ASSERT_TRUE(send_to(*target_, proof));
  source.join();
  EXPECT_EQ(refusal, "a server does not know the key of its ticket");
}

TEST_F(PeerHandshake, TargetOfAnotherVersionIsToldOurs) {
  std::string refusal;
  std::thread source([&] { refusal = serve(ticket_); });
  flatbuffers::FlatBufferBuilder opening;
  opening.Finish(wire::CreatePeer(opening, 2));
  ASSERT_TRUE(send_to(*target_, opening));
  const auto input = std::make_unique<FrameReader>(*target_, kHandshakePatience);
  FrameHeader header;
  ASSERT_EQ(input->next(header, deadline()), ReadStatus::data);
  EXPECT_EQ(verified_peer(input->message())->version(), 1);
  source.join();
  EXPECT_EQ(refusal, "a server speaks version 2 of the protocol between servers, and this one version 1");
}

TEST_F(PeerHandshake, SourceOfAnotherVersionGetsNoProof) {
  std::thread source([&] {
    flatbuffers::FlatBufferBuilder answer;
    answer.Finish(wire::CreatePeer(answer, 3));
    EXPECT_TRUE(send_to(*source_, answer));
  });
  std::string why;
  EXPECT_FALSE(present_ticket(*target_, ticket_, deadline(), why));
  EXPECT_EQ(why, "it speaks version 3 of the protocol between servers, and this one version 1");
  source.join();
}

TEST_F(PeerHandshake, WhatIsNoOpeningIsRefused) {
  const std::vector<std::uint8_t> bytes(32, 1);
  const auto opening_of = [&](std::uint16_t version, std::size_t ticket, std::size_t nonce) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreatePeer(builder, version, builder.CreateVector(bytes.data(), ticket),
                                    builder.CreateVector(bytes.data(), nonce)));
    std::vector<std::uint64_t> aligned((builder.GetSize() + 7) / 8);
    std::memcpy(aligned.data(), builder.GetBufferPointer(), builder.GetSize());
    return read_opening(std::as_bytes(std::span(aligned)).first(builder.GetSize()));
  };
  EXPECT_TRUE(opening_of(1, 16, 32));
  EXPECT_EQ(opening_of(2, 0, 0)->version, 2) << "what another version is like is not known";
  EXPECT_FALSE(opening_of(1, 15, 32));
  EXPECT_FALSE(opening_of(1, 16, 31));
  EXPECT_FALSE(opening_of(1, 0, 0));
  EXPECT_FALSE(read_opening(std::as_bytes(std::span(bytes))));
}

}  // namespace
}  // namespace cleave::remote::server
