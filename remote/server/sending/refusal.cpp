#include "remote/server/sending/refusal.h"

#include <span>

#include "remote/protocol/features.h"
#include "remote/protocol/frame.h"
#include "remote/protocol/limits.h"
#include "remote/transport/frames.h"

namespace cleave::remote::server {

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
