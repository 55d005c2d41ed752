// Writes seeds for the harness `admission`. Usage: admission_seeds FOLDER.
#include <fstream>
#include <string>

#include "remote/protocol/features.h"
#include "remote/protocol/frame.h"
#include "remote/protocol/messages.h"

namespace {

namespace wire = cleave::remote::wire;

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
  write("introduction", "m1 4 peer 6 user 0 4 name 1 7 500 0 0");
  write("verdict", "m1 1");
}
