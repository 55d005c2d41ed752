// Writes seeds for the harness `admission`. Usage: admission_seeds FOLDER.
#include <fstream>
#include <string>

#include "remote/protocol/features.h"
#include "remote/protocol/frame.h"
#include "remote/protocol/messages.h"
#include "remote/server/messages.h"

namespace {

namespace wire = cleave::remote::wire;
namespace ipc = cleave::remote::server::ipc;

std::string hello(const std::string& token, const std::string& name, bool is_query) {
  flatbuffers::FlatBufferBuilder builder;
  const auto given = builder.CreateString(token);
  const auto called = builder.CreateString(name);
  builder.Finish(wire::CreateHello(builder, cleave::remote::kVersion, cleave::remote::kOldestVersion, 7,
                                   wire::ByteOrder::little, given, called, 500, is_query));
  const auto header = cleave::remote::encode({cleave::remote::FrameKind::hello, builder.GetSize(), 0});
  std::string text(reinterpret_cast<const char*>(header.data()), header.size());
  return text.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

template <typename Table>
std::string packet(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> body) {
  builder.Finish(ipc::CreatePacket(builder, ipc::BodyTraits<Table>::enum_value, body.Union()));
  std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  builder.Clear();
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(std::string(arguments[1]) + "/" + name, std::ios::binary) << text;
  };
  write("hello", 'h' + hello("a token", "a program", false));
  write("query", 'h' + hello("", std::string(300, 'x') + "\n\x7f", true));
  write("arrivals", 'a' + std::string({0, 4, 8, 0, 1, 5, 2, 3, 16, 20, 0, 0, 0, 0, 1, 2, 2, 2, 7, 11}));
  write("relay", "rwhat goes in and what comes out");
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&] { return builder.CreateString("a text"); };
  const auto client =
      ipc::CreateClient(builder, text(), 1, 7, 500, false, false, 0, text(), 5, 1, text(), text(), text());
  write("introduction", 'm' + packet(builder, ipc::CreateIntroduction(builder, 1, text(), text(), client)));
  write("report", 'm' + packet(builder, ipc::CreateReport(builder, ipc::ReportKind::ended, text())));
  const auto addresses = builder.CreateVectorOfStrings({"tcp:a:1", "tls:b:2"});
  write("peer_message", 'm' + packet(builder, ipc::CreatePeerMessage(builder, 1, ipc::PeerMessageKind::fetch,
                                                                     2, 0, addresses, text())));
}
