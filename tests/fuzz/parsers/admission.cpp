// What reaches the server's front: connections that come, speak and go in any order, a Hello in pieces of any size, what a relay
// passes on, and the messages between front and supervisor.
//
// The first byte of an input says what it is for.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/socket.h>

#include "harness.h"
#include "remote/protocol/limits.h"
#include "remote/server/front/arrivals.h"
#include "remote/server/front/greeting.h"
#include "remote/server/front/printable.h"
#include "remote/server/front/relay.h"
#include "remote/server/processes/packets.h"
#include "remote/transport/stream.h"

namespace {

using namespace cleave::remote;
using namespace cleave::remote::server;
using cleave::fuzz::require;
using Id = Arrivals::Id;

// What the front must know of its connections, counted in the plainest way.
class Model {
 public:
  void come(Id id, const std::string& peer) {
    const std::size_t before = waiting_of(peer);
    const Arrivals::Place place = arrivals_.add(id, peer);
    if (place.instead) {
      const auto out = waiting_.find(*place.instead);
      require(place.may_wait && out != waiting_.end(), "who makes room has waited");
      require(waiting_of(out->second.peer) > before, "who makes room is of a peer with more");
      waiting_.erase(out);
    }
    if (place.may_wait) waiting_[id] = {peer, false};
    require(place.may_wait || before > 0, "a peer without a place gets one");
    check();
  }
  void speak(Id id) {
    arrivals_.has_spoken(id);
    const auto found = waiting_.find(id);
    if (found != waiting_.end()) found->second.has_spoken = true;
  }
  void greet() {
    const auto next = arrivals_.next();
    if (!next) {
      for (const auto& [id, each] : waiting_) {
        const bool is_due = each.has_spoken && greeted_of(each.peer) < kLimits.greeted_per_peer;
        require(!is_due || greeted_.size() >= kLimits.greeted, "who may be greeted is");
      }
      return;
    }
    const auto found = waiting_.find(*next);
    require(found != waiting_.end() && found->second.has_spoken, "who is greeted has spoken");
    greeted_[*next] = found->second.peer;
    waiting_.erase(found);
    check();
  }
  void go(Id id) {
    arrivals_.remove(id);
    waiting_.erase(id);
    greeted_.erase(id);
    check();
  }

 private:
  static constexpr ArrivalLimits kLimits{
      .waiting = 6, .waiting_per_peer = 4, .greeted = 3, .greeted_per_peer = 2};
  struct Waiting {
    std::string peer;
    bool has_spoken = false;
  };

  [[nodiscard]] std::size_t waiting_of(const std::string& peer) const {
    return static_cast<std::size_t>(std::count_if(
        waiting_.begin(), waiting_.end(), [&](const auto& each) { return each.second.peer == peer; }));
  }
  [[nodiscard]] std::size_t greeted_of(const std::string& peer) const {
    return static_cast<std::size_t>(std::count_if(greeted_.begin(), greeted_.end(),
                                                  [&](const auto& each) { return each.second == peer; }));
  }
  void check() const {
    require(arrivals_.waiting() == waiting_.size() && waiting_.size() <= kLimits.waiting, "few wait");
    require(arrivals_.greeted() == greeted_.size() && greeted_.size() <= kLimits.greeted, "few are greeted");
    for (const auto& [id, each] : waiting_)
      require(waiting_of(each.peer) <= kLimits.waiting_per_peer, "few of one peer wait");
    for (const auto& [id, peer] : greeted_)
      require(greeted_of(peer) <= kLimits.greeted_per_peer, "few of one peer are greeted");
  }

  Arrivals arrivals_{kLimits};
  std::map<Id, Waiting> waiting_;
  std::map<Id, std::string> greeted_;
};

// Each byte is what happens next, and to whom.
void check_arrivals(std::string_view script) {
  Model model;
  Id latest = 0;
  for (const char byte : script) {
    const auto what = static_cast<unsigned char>(byte);
    const Id whom = latest - std::min<Id>(latest, what >> 2U & 0xfU);
    switch (what & 3U) {
      case 0:
        model.come(++latest, std::string(1, static_cast<char>('a' + (what >> 2U) % 5)));
        break;
      case 1:
        model.speak(whom);
        break;
      case 2:
        model.greet();
        break;
      default:
        model.go(whom);
    }
  }
}

// A peer that sends the bytes in pieces of these sizes, over and over, and takes what it is answered.
class Peer final : public Stream {
 public:
  Peer(std::string_view text, std::vector<std::size_t> sizes) : text_(text), sizes_(std::move(sizes)) {}

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time) override {
    size = std::min({into.size(), text_.size(), sizes_[piece_++ % sizes_.size()]});
    if (size == 0) return ReadStatus::closed;
    std::memcpy(into.data(), text_.data(), size);
    text_.remove_prefix(size);
    return ReadStatus::data;
  }
  bool write(std::span<iovec>, Duration, const WhileBlocked&) override { return true; }
  bool has_data() override { return !text_.empty(); }
  void shutdown() override {}
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  std::string_view text_;
  const std::vector<std::size_t> sizes_;
  std::size_t piece_ = 0;
};

// Of a packet that was just written.
template <typename Table>
auto message_in(std::span<const std::byte> bytes) {
  const ipc::Packet* const packet = verified_packet(bytes, 0);
  require(packet != nullptr && packet->body_as<Table>() != nullptr, "what is written can be read");
  return decode(*packet->body_as<Table>());
}

// Everybody may connect: a wrong token takes half a second.
std::optional<ClientInfo> greeted(std::string_view text, std::vector<std::size_t> sizes) {
  Peer peer(text, std::move(sizes));
  std::string why;
  static const Options no_secrets;
  static const Credentials everybody(no_secrets, {});
  const auto input = std::make_unique<FrameReader>(peer, std::chrono::seconds(kHelloSeconds));
  const auto opening = read_opening(*input, std::chrono::steady_clock::now() + std::chrono::seconds(10), why);
  if (!opening || opening->hello == nullptr) return std::nullopt;
  const auto accepted = server::check_hello(peer, *opening->hello, everybody, "", why);
  require(accepted.has_value() == why.empty(), "a refusal has a reason");
  if (!accepted) return std::nullopt;
  const ClientInfo* const client = &accepted->client;
  require(client->name.size() <= kMaxName && printable(client->name) == client->name, "a name can be logged");
  require(!client->is_relayed, "only the front says that it relays");
  const Packet packet = encode(Introduction{0, "", "", *client, {}});
  require(message_in<ipc::Introduction>(bytes_of(packet)).client == *client,
          "the supervisor learns what the front does");
  return *client;
}

void check_hello(std::string_view text) {
  std::vector<std::size_t> sizes;
  for (const char each : text.substr(0, 8)) sizes.push_back(1 + static_cast<unsigned char>(each) % 32);
  const auto whole = greeted(text, {text.size() + 1});
  if (!whole) return;
  require(greeted(text, {1}) == whole, "pieces do not matter");
  require(sizes.empty() || greeted(text, sizes) == whole, "pieces do not matter");
}

struct Pair {
  Pair() { require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets"); }
  ~Pair() { ::close(ends[1]); }
  int ends[2]{};
};

// All that can be read without waiting, up to the end.
std::string rest_of(int socket) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

// What both ends have sent fits into the sockets; then both are closed for sending.
void check_relay(std::string_view text) {
  const Pair outside;
  const Pair inside;
  const std::size_t half = text.size() / 2;
  const std::array<std::string_view, 2> sent{text.substr(0, half), text.substr(half)};
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const int socket = i == 0 ? outside.ends[1] : inside.ends[1];
    std::string_view left = sent[i];
    while (!left.empty()) {
      const std::size_t size = 1 + static_cast<unsigned char>(left[0]) % left.size();
      ::send(socket, left.data(), size, MSG_NOSIGNAL);
      left.remove_prefix(size);
    }
    ::shutdown(socket, SHUT_WR);
  }
  {
    const auto outer = make_socket_stream(outside.ends[0]);
    const auto inner = make_socket_stream(inside.ends[0]);
    relay(*outer, *inner, std::chrono::seconds(10));
  }
  require(sent[0].starts_with(rest_of(inside.ends[1])), "what comes in is what was sent");
  require(sent[1].starts_with(rest_of(outside.ends[1])), "what goes out is what was sent");
}

template <typename Table>
void check_again(const ipc::Packet& packet) {
  if (packet.body_as<Table>() == nullptr) return;
  const Packet once = encode(decode(*packet.body_as<Table>()));
  const Packet again = encode(message_in<Table>(bytes_of(once)));
  require(std::ranges::equal(bytes_of(once), bytes_of(again)), "a message that can be read can be written");
}

// What one process of the server gets from another.
void check_message(std::string_view text) {
  std::vector<std::uint64_t> aligned(text.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned.data(), text.data(), text.size());
  const auto bytes = std::as_bytes(std::span(aligned)).first(text.size());
  const ipc::Packet* const packet = verified_packet(bytes, 0);
  if (packet == nullptr) return;
  if (const auto* const report = packet->body_as_Report())
    require(report->text()->str().size() <= kMaxReportText, "few is logged");
  check_again<ipc::Options>(*packet);
  check_again<ipc::Introduction>(*packet);
  check_again<ipc::Assignment>(*packet);
  check_again<ipc::PeerMessage>(*packet);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = cleave::fuzz::text_of(data + 1, size - 1);
  switch (data[0]) {
    case 'h':
      check_hello(text);
      return 0;
    case 'r':
      check_relay(text.substr(0, 4096));
      return 0;
    case 'm':
      check_message(text);
      return 0;
    default:
      check_arrivals(text.substr(0, 2048));
      return 0;
  }
}
