#include "remote/server/front/greeting.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"
#include "remote/server/front/printable.h"

namespace cleave::remote::server {
namespace {

// Slows down guessing of tokens.
constexpr std::chrono::milliseconds kWrongTokenDelay{500};

struct RefusalDetails {
  wire::Refusal reason = wire::Refusal::none;
  std::string text;
};

RefusalDetails check_hello(const wire::Hello& hello, bool is_known) {
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

const wire::Hello* next_hello(FrameReader& input, Time until, std::string& why) {
  FrameHeader header;
  input.set_deadline(until);
  const ReadStatus got = input.next(header, until, kMaxHelloSize);
  if (got == ReadStatus::timeout) return why = "no Hello in time", nullptr;
  if (got != ReadStatus::data) return why = "disconnected, or not a Hello", nullptr;
  const wire::Hello* const hello =
      header.kind == FrameKind::hello ? verified_hello(input.message()) : nullptr;
  // What comes behind it would be lost: the worker gets the connection as it is then.
  if (hello == nullptr || header.payload != 0 || input.has_buffered()) return why = "not a Hello", nullptr;
  return hello;
}

}  // namespace

std::optional<Greeted> read_hello(Stream& stream, const Credentials& credentials,
                                  const std::string& certificate, Time until, std::string& why) {
  const auto input = std::make_unique<FrameReader>(stream, std::chrono::seconds(kHelloSeconds));
  const wire::Hello* const hello = next_hello(*input, until, why);
  if (hello == nullptr) return std::nullopt;
  const std::string_view token = hello->token() != nullptr ? hello->token()->string_view() : "";
  auto grant = credentials.find(token, certificate);
  const RefusalDetails refused = check_hello(*hello, grant.has_value());
  if (refused.reason == wire::Refusal::none) {
    return Greeted{{.name = hello->name() != nullptr ? printable(hello->name()->str()) : "",
                    .version = std::min(hello->version(), kVersion),
                    .features = hello->features(),
                    .heartbeat = hello->heartbeat(),
                    .is_query = hello->query()},
                   std::move(*grant)};
  }
  if (refused.reason == wire::Refusal::token) std::this_thread::sleep_for(kWrongTokenDelay);
  send_refusal(stream, refused.reason, refused.text);
  why = refused.text;
  return std::nullopt;
}

void send_refusal(Stream& stream, wire::Refusal reason, const std::string& text) {
  flatbuffers::FlatBufferBuilder builder;
  const auto words = builder.CreateString(text);
  wire::WelcomeBuilder welcome(builder);
  welcome.add_refusal(reason);
  welcome.add_text(words);
  welcome.add_version(kVersion);
  builder.Finish(welcome.Finish());
  write_frame(stream, FrameKind::welcome,
              std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), {},
              std::chrono::seconds(kHelloSeconds));
}

}  // namespace cleave::remote::server
