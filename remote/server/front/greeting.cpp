#include "remote/server/front/greeting.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <thread>
#include <utility>

#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"
#include "remote/server/front/printable.h"
#include "remote/server/sending/refusal.h"

namespace cleave::remote::server {
namespace {

// Slows down guessing of tokens.
constexpr std::chrono::milliseconds kWrongTokenDelay{500};

struct RefusalDetails {
  wire::Refusal reason = wire::Refusal::none;
  std::string text;
};

RefusalDetails refusal_of(const wire::Hello& hello, bool is_known) {
  const auto ours = std::endian::native == std::endian::big ? wire::ByteOrder::big : wire::ByteOrder::little;
  if (hello.oldest() > kVersion || hello.version() < kOldestVersion)
    return {wire::Refusal::version, "no common protocol version"};
  if (!is_known) return {wire::Refusal::token, "the token is wrong or missing"};
  if (hello.byte_order() != ours) {
    const std::string theirs = hello.byte_order() == wire::ByteOrder::big ? "big" : "little";
    return {wire::Refusal::byte_order, "the client's machine is " + theirs + "-endian, and this one is not"};
  }
  return {};
}

}  // namespace

std::optional<Opening> read_opening(FrameReader& input, Time until, std::string& why) {
  FrameHeader header;
  input.set_deadline(until);
  const ReadStatus got = input.next(header, until, kMaxHelloSize);
  if (got == ReadStatus::timeout) return why = "no Hello in time", std::nullopt;
  if (got != ReadStatus::data) return why = "disconnected, or not a Hello", std::nullopt;
  Opening opening;
  // What comes behind it would be lost: the worker gets the connection as it is then.
  const bool is_alone = header.payload == 0 && !input.has_buffered();
  if (is_alone && header.kind == FrameKind::hello) opening.hello = verified_hello(input.message());
  if (is_alone && header.kind == FrameKind::peer) opening.peer = read_opening(input.message());
  if (opening.hello == nullptr && !opening.peer) return why = "not a Hello", std::nullopt;
  return opening;
}

std::optional<Greeted> check_hello(Stream& stream, const wire::Hello& hello, const Credentials& credentials,
                                   const std::string& certificate, std::string& why) {
  const std::string_view token = hello.token() != nullptr ? hello.token()->string_view() : "";
  auto grant = credentials.find(token, certificate);
  const RefusalDetails refused = refusal_of(hello, grant.has_value());
  if (refused.reason == wire::Refusal::none) {
    return Greeted{{.name = hello.name() != nullptr ? printable(hello.name()->str()) : "",
                    .version = std::min(hello.version(), kVersion),
                    .features = hello.features(),
                    .heartbeat = hello.heartbeat(),
                    .is_query = hello.query()},
                   std::move(*grant)};
  }
  if (refused.reason == wire::Refusal::token) std::this_thread::sleep_for(kWrongTokenDelay);
  send_refusal(stream, refused.reason, refused.text);
  why = refused.text;
  return std::nullopt;
}

}  // namespace cleave::remote::server
