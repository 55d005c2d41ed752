// The messages between the server's processes: what is written can be read, and nothing else.
#include "remote/server/processes/packets.h"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace cleave::remote::server {
namespace {

// The packet in a copy of these bytes, which is kept until the next call.
const ipc::Packet* read_packet(std::span<const std::byte> bytes, std::size_t descriptors = 0) {
  static std::vector<std::uint64_t> aligned;
  aligned.assign(bytes.size() / sizeof aligned[0] + 1, 0);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return verified_packet(std::as_bytes(std::span(aligned)).first(bytes.size()), descriptors);
}

template <typename Table>
auto again(const Packet& packet) {
  const ipc::Packet* const received = read_packet(bytes_of(packet));
  EXPECT_TRUE(received != nullptr && received->body_as<Table>() != nullptr);
  return decode(*received->body_as<Table>());
}

const ClientInfo kClient{"a name 5 \xc3\xa9", 3, UINT64_MAX, 4'000'000'000, true, true, 7};
const Grant kGrant{"a b", 0, 3, "200", "12.5%,borrow", "background"};

// With everything that a packet may hold.
const PeerMessage kFetch{.kind = PeerMessage::Kind::fetch,
                         .worker = UINT64_MAX,
                         .number = 2,
                         .ticket = std::string("12 34\0 5", 8),
                         .addresses = {"tcp:a:1", "", "tls:b c:2"},
                         .why = "because of 5 things"};

Packet verdict_of(ipc::Answer answer) {
  return packet_of(
      [&](auto& builder) { return ipc::CreateVerdict(builder, 1, answer, builder.CreateString("")); });
}

TEST(Packets, WhatIsWrittenIsRead) {
  const auto assignment = again<ipc::Assignment>(encode(Assignment{kClient, kGrant, 12, true}));
  EXPECT_EQ(assignment.client, kClient);
  EXPECT_EQ(assignment.grant, kGrant);
  EXPECT_EQ(assignment.clients, 12U);
  EXPECT_TRUE(assignment.is_traced);
  const auto introduction = again<ipc::Introduction>(encode(Introduction{7, "1.2.3.4:5 b", "", kClient, {}}));
  EXPECT_EQ(introduction.id, 7U);
  EXPECT_EQ(introduction.peer, "1.2.3.4:5 b");
  EXPECT_EQ(introduction.peer_key, "");
  EXPECT_EQ(introduction.client, kClient);
  EXPECT_EQ(introduction.grant, Grant{});
  EXPECT_EQ(again<ipc::PeerMessage>(encode(kFetch)), kFetch);
  const std::vector<daemon::GivenValue> options{{"state", ""}, {"opencl", std::string("a\0\n", 3)}};
  EXPECT_EQ(again<ipc::Options>(encode(options)), options);
}

TEST(Packets, LongTextsAreCut) {
  const Packet packet = encode(ipc::ReportKind::ended, std::string(5000, 'x'));
  ASSERT_NE(read_packet(bytes_of(packet)), nullptr);
  EXPECT_EQ(read_packet(bytes_of(packet))->body_as_Report()->text()->size(), kMaxReportText);
  EXPECT_EQ(again<ipc::PeerMessage>(encode(PeerMessage{.why = std::string(5000, 'x')})).why.size(),
            kMaxReason);
}

TEST(Packets, WhatTheSchemaCannotExpressIsChecked) {
  const auto is_refused = [](const Packet& packet) { return read_packet(bytes_of(packet)) == nullptr; };
  const auto with = [](auto change) {
    PeerMessage message = kFetch;
    change(message);
    return encode(message);
  };
  EXPECT_TRUE(is_refused(with([](auto& message) { message.addresses.assign(5, "tcp:a:1"); })));
  EXPECT_TRUE(is_refused(with([](auto& message) { message.addresses = {std::string(257, 'a')}; })));
  EXPECT_TRUE(is_refused(with([](auto& message) { message.ticket.resize(49); })));
  EXPECT_TRUE(is_refused(with([](auto& message) { message.kind = static_cast<PeerMessage::Kind>(6); })));
  EXPECT_TRUE(is_refused(verdict_of(static_cast<ipc::Answer>(3))));
  EXPECT_TRUE(is_refused(encode(static_cast<ipc::ReportKind>(4), "")));
  Grant grant;
  grant.priority = std::string(kMaxGrantText + 1, 'x');
  EXPECT_TRUE(is_refused(encode(Assignment{{}, grant})));
  EXPECT_TRUE(is_refused(encode(Introduction{0, "", "", {}, grant})));
  flatbuffers::FlatBufferBuilder builder;
  for (const auto type : {ipc::Body::NONE, static_cast<ipc::Body>(200)}) {
    builder.Finish(ipc::CreatePacket(builder, type, ipc::CreateCounters(builder).Union()));
    EXPECT_EQ(read_packet(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()))), nullptr);
    builder.Clear();
  }
}

TEST(Packets, OnlyWhatHasDescriptorsMayComeWithSome) {
  const auto most = [](const Packet& packet) {
    std::size_t count = 0;
    while (count < 9 && read_packet(bytes_of(packet), count) != nullptr) ++count;
    return count - 1;
  };
  EXPECT_EQ(most(encode(Assignment{})), 2U);
  EXPECT_EQ(most(encode(Introduction{})), 1U);
  EXPECT_EQ(most(verdict_of(ipc::Answer::waits)), 0U);
  EXPECT_EQ(most(packet_of(ipc::CreateCounters)), 1U);
  EXPECT_EQ(most(encode(ipc::ReportKind::taken, "")), 0U);
  EXPECT_EQ(most(encode(kFetch)), 0U);
  EXPECT_EQ(most(encode(PeerMessage{.kind = PeerMessage::Kind::arrived})), 1U);
}

// Other damage is the fuzzer's (tests/fuzz/parsers/admission.cpp).
TEST(Packets, WhatIsCutIsRefused) {
  for (const Packet& good : {encode(kFetch), encode(Assignment{kClient, kGrant})}) {
    for (std::size_t size = 0; size < good.size() / 2; ++size)
      EXPECT_EQ(read_packet(bytes_of(good).first(size)), nullptr) << size;
  }
}

TEST(PacketReader, ReadsOneAtATimeAndRefusesWhatIsNone) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const base::FileDescriptor ours(ends[0]);
  base::FileDescriptor theirs(ends[1]);
  PacketReader reader;
  EXPECT_EQ(reader.read_socket(ours.get(), MSG_DONTWAIT), ReadStatus::timeout);
  const Packet good = encode(kFetch);
  std::vector<std::byte> large(kMaxPacket + 1);
  std::memcpy(large.data(), good.data(), good.size());
  const int sent = theirs.get();
  ASSERT_TRUE(send_packet(sent, packet_of(ipc::CreateCounters), std::span(&sent, 1)));
  ASSERT_TRUE(send_packet(sent, good, std::span(&sent, 1)));
  ASSERT_EQ(::send(sent, large.data(), large.size(), 0), static_cast<ssize_t>(large.size()));
  ASSERT_TRUE(send_packet_now(sent, good));
  theirs.close();
  ASSERT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::data);
  EXPECT_NE(reader.get<ipc::Counters>(), nullptr);
  EXPECT_EQ(reader.get<ipc::Verdict>(), nullptr);
  EXPECT_EQ(reader.descriptors.size(), 1U);
  ASSERT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::data);
  EXPECT_EQ(reader.get<ipc::PeerMessage>(), nullptr) << "it came with a descriptor";
  ASSERT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::data);
  EXPECT_EQ(reader.get<ipc::PeerMessage>(), nullptr) << "it is too large";
  ASSERT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::data);
  EXPECT_NE(reader.get<ipc::PeerMessage>(), nullptr);
  EXPECT_TRUE(reader.descriptors.empty());
  EXPECT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::closed);
  EXPECT_EQ(reader.get<ipc::PeerMessage>(), nullptr);
}

}  // namespace
}  // namespace cleave::remote::server
