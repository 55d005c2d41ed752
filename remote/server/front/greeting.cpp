#include "remote/server/front/greeting.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>

#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::server {
namespace {

// Slows down guessing of tokens.
constexpr std::chrono::milliseconds kWrongTokenDelay{500};

// Constant-time comparison: takes the same time for any text of this length.
bool equals_in_constant_time(const std::string& token, const flatbuffers::String* given) {
  const std::size_t size = given != nullptr ? given->size() : 0;
  unsigned difference = token.size() == size ? 0 : 1;
  for (std::size_t i = 0; given != nullptr && i < std::min(token.size(), size); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(token[i]) ^
                                        static_cast<unsigned char>(given->c_str()[i]));
  }
  return difference == 0;
}

bool has_valid_token(const std::vector<std::string>& tokens, const flatbuffers::String* given) {
  bool knows = tokens.empty();
  for (const std::string& token : tokens) knows = equals_in_constant_time(token, given) || knows;
  return knows;
}

struct RefusalDetails {
  wire::Refusal reason = wire::Refusal::none;
  std::string text;
};

RefusalDetails check_hello(const std::vector<std::string>& tokens, const wire::Hello& hello) {
  const auto ours = std::endian::native == std::endian::big ? wire::ByteOrder::big : wire::ByteOrder::little;
  if (hello.oldest() > kVersion || hello.version() < kOldestVersion)
    return {wire::Refusal::version, "no common protocol version"};
  if (!has_valid_token(tokens, hello.token())) return {wire::Refusal::token, "the token is wrong or missing"};
  if (hello.byte_order() != ours) return {wire::Refusal::byte_order, "different byte order"};
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

std::string printable(std::string text) {
  text.resize(std::min(text.size(), kMaxName));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

std::optional<ClientInfo> read_hello(Stream& stream, const std::vector<std::string>& tokens, Time until,
                                     std::string& why) {
  const auto input = std::make_unique<FrameReader>(stream, std::chrono::seconds(kHelloSeconds));
  const wire::Hello* const hello = next_hello(*input, until, why);
  if (hello == nullptr) return std::nullopt;
  const RefusalDetails refused = check_hello(tokens, *hello);
  if (refused.reason == wire::Refusal::none) {
    return ClientInfo{.name = hello->name() != nullptr ? printable(hello->name()->str()) : "",
                      .version = std::min(hello->version(), kVersion),
                      .features = hello->features(),
                      .heartbeat = hello->heartbeat(),
                      .is_query = hello->query()};
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
