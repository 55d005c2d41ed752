#include "remote/server/worker/handshake.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <unistd.h>

#include "remote/protocol/features.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

// Slows down guessing of tokens.
constexpr std::chrono::milliseconds kWrongTokenDelay{500};

std::uint64_t time_of_welcome() {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

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

RefusalDetails check_hello(const HandshakeParams& params, const DeviceCatalog& offer,
                           const wire::Hello& hello) {
  const auto ours = std::endian::native == std::endian::big ? wire::ByteOrder::big : wire::ByteOrder::little;
  if (hello.oldest() > kVersion || hello.version() < kOldestVersion) {
    return {wire::Refusal::version, "no common protocol version"};
  }
  if (!has_valid_token(params.tokens, hello.token()))
    return {wire::Refusal::token, "the token is wrong or missing"};
  if (hello.byte_order() != ours) return {wire::Refusal::byte_order, "different byte order"};
  if (offer.empty()) return {wire::Refusal::no_device, "no device to offer"};
  return {};
}

void send_refusal(Stream& stream, const RefusalDetails& refused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(refused.text);
  wire::WelcomeBuilder welcome(builder);
  welcome.add_refusal(refused.reason);
  welcome.add_text(text);
  welcome.add_version(kVersion);
  builder.Finish(welcome.Finish());
  write_frame(stream, FrameKind::welcome,
              std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), {},
              std::chrono::seconds(kHelloSeconds));
}

}  // namespace

DeviceCatalog::DeviceCatalog(const Table& cl, const std::vector<OfferedPlatform>& platforms)
    : builder_(std::size_t{64} * 1024) {
  for (const OfferedPlatform& platform : platforms) platforms_.push_back(describe(cl, builder_, platform));
}

std::span<const std::byte> DeviceCatalog::welcome(const Options& options, std::uint64_t features,
                                                  unsigned clients, std::uint16_t version) {
  const auto platforms = builder_.CreateVector(platforms_);
  const auto load = wire::CreateLoad(builder_, clients, options.max_clients);
  const auto name = builder_.CreateString(host_name());
  wire::WelcomeBuilder welcome(builder_);
  welcome.add_version(version);
  welcome.add_features(features);
  welcome.add_platforms(platforms);
  welcome.add_window_commands(static_cast<std::uint32_t>(options.limits.window_commands));
  welcome.add_window_bytes(options.limits.window_bytes);
  welcome.add_most_memory(options.limits.memory);
  welcome.add_heartbeat(static_cast<std::uint32_t>(options.heartbeat.count()));
  welcome.add_load(load);
  welcome.add_name(name);
  welcome.add_time(time_of_welcome());
  builder_.Finish(welcome.Finish());
  return std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
}

std::optional<ClientInfo> handshake(const HandshakeParams& params, DeviceCatalog& offer, Stream& stream,
                                    FrameReader& input, std::string& why) {
  FrameHeader header;
  input.set_deadline(params.until);
  const ReadStatus got = input.next(header, params.until, kMaxHelloSize);
  input.set_deadline(Time::max());
  if (got == ReadStatus::timeout) {
    why = "no Hello in time";
    return std::nullopt;
  }
  const wire::Hello* const hello =
      got == ReadStatus::data && header.kind == FrameKind::hello ? verified_hello(input.message()) : nullptr;
  if (hello == nullptr) {
    why = got == ReadStatus::data ? "not a Hello" : "disconnected, or not a Hello";
    return std::nullopt;
  }
  ClientInfo client;
  client.name = hello->name() != nullptr ? hello->name()->str() : "";
  client.heartbeat = std::chrono::milliseconds(hello->heartbeat());
  client.features = hello->features() & params.features;
  client.is_query = hello->query();
  RefusalDetails refused = check_hello(params, offer, *hello);
  Admission admission;
  if (refused.reason == wire::Refusal::none) {
    admission = params.admit(client);
    if (!admission.admitted) refused = {wire::Refusal::full, "too many clients"};
  }
  if (refused.reason != wire::Refusal::none) {
    if (refused.reason == wire::Refusal::token) std::this_thread::sleep_for(kWrongTokenDelay);
    send_refusal(stream, refused);
    why = refused.text;
    return std::nullopt;
  }
  const auto welcome =
      offer.welcome(params.options, client.features, admission.clients, std::min(hello->version(), kVersion));
  if (write_frame(stream, FrameKind::welcome, welcome, {}, std::chrono::seconds(kHelloSeconds)))
    return client;
  why = "disconnected during the handshake";
  return std::nullopt;
}

}  // namespace cleave::remote::server
