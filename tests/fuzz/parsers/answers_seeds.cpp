// Writes seeds for the harness `answers`: correct answers for every program, and answers that deviate in one way or
// another. Usage: answers_seeds FOLDER.
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "answers/mock_server.h"
#include "answers/script.h"
#include "base/opencl.h"
#include "remote/protocol/messages.h"

namespace {

namespace wire = cleave::remote::wire;
using namespace cleave::fuzz::answers;  // NOLINT(google-build-using-namespace): the input's own words

constexpr std::uint8_t kAllFeatures = 0xff;
constexpr unsigned kProgramCount = 8;

class Seed {
 public:
  explicit Seed(unsigned program, std::uint8_t options = 0, std::uint8_t features = kAllFeatures)
      : text_{static_cast<char>(program | options), static_cast<char>(features)} {}

  Seed& fault(unsigned after, Fault::Kind kind, std::uint8_t options = 0, const std::string& bytes = {},
              std::uint16_t payload = 0) {
    text_.push_back(static_cast<char>(after));
    text_.push_back(static_cast<char>(static_cast<std::uint8_t>(kind) | options));
    for (const std::size_t number : {bytes.size(), static_cast<std::size_t>(payload)}) {
      text_.push_back(static_cast<char>(number & 0xffU));
      text_.push_back(static_cast<char>(number >> 8U));
    }
    text_ += bytes;
    return *this;
  }

  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << text_; }

 private:
  std::string text_;
};

// A frame with one item.
template <typename Body>
std::string frame(flatbuffers::FlatBufferBuilder& b, flatbuffers::Offset<Body> body,
                  std::uint64_t payload = 0) {
  const auto item = wire::CreateItem(b, payload, wire::EventTraits<Body>::enum_value, body.Union());
  b.Finish(wire::CreateEvents(b, b.CreateVector(std::vector{item}), 1000, 1000));
  std::string text(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  b.Clear();
  return text;
}

struct Odd {
  std::string name;
  std::string message;
  std::uint16_t payload = 0;
};

// Events that a server may send unasked, or in place of the right ones.
std::vector<Odd> odd_frames() {
  flatbuffers::FlatBufferBuilder b;
  std::vector<Odd> all;
  const auto bytes = [&](std::size_t size) { return b.CreateVector(std::vector<std::uint8_t>(size, 1)); };
  all.push_back({"error", frame(b, wire::CreateAnswer(b, 1, CL_OUT_OF_RESOURCES, 1))});
  all.push_back({"plain", frame(b, wire::CreateAnswer(b, 1, 0, 1))});
  all.push_back({"bytes", frame(b, wire::CreateAnswer(b, 1, 0, 1, 0, bytes(24)))});
  all.push_back({"data", frame(b, wire::CreateAnswer(b, 1, 0, 1), 64), 64});
  all.push_back(
      {"values", frame(b, wire::CreateAnswer(b, 1, 0, 1, b.CreateVector<std::int64_t>({64})), 64), 64});
  all.push_back({"more", frame(b, wire::CreateAnswer(b, 1, 0, 0, 0, 0, 0, 0, true), 32), 32});
  const auto info = wire::CreateInfo(b, wire::InfoSubject::kernel, CL_KERNEL_NUM_ARGS, 0, 0, 0, bytes(4));
  all.push_back({"infos", frame(b, wire::CreateAnswer(b, 1, 0, 1, 0, 0, b.CreateVector(std::vector{info})))});
  const auto device = wire::CreateDevice(b, 5);
  all.push_back(
      {"devices", frame(b, wire::CreateAnswer(b, 1, 0, 1, 0, 0, 0, b.CreateVector(std::vector{device})))});
  const wire::Times times(1, 2, 3, 4, 5);
  all.push_back({"completion", frame(b, wire::CreateCompletion(b, 1, 1, &times))});
  all.push_back({"failed", frame(b, wire::CreateCompletion(b, 1, -5, &times))});
  all.push_back({"status", frame(b, wire::CreateEventStatus(b, 1, CL_RUNNING))});
  all.push_back({"failure", frame(b, wire::CreateFailure(b, 1, 1, CL_OUT_OF_RESOURCES))});
  all.push_back({"output", frame(b, wire::CreateOutput(b), 40), 40});
  all.push_back({"context", frame(b, wire::CreateContextError(b, 1, b.CreateString("text"), bytes(8)))});
  all.push_back({"gone", frame(b, wire::CreateMemoryReleased(b, 3))});
  all.push_back({"pong", frame(b, wire::CreatePong(b, 3))});
  all.push_back({"goodbye", frame(b, wire::CreateGoodbye(b, b.CreateString("so long")))});
  return all;
}

void write_bad(const std::string& folder) {
  for (unsigned program = 0; program < kProgramCount; ++program) {
    const std::string number = "_" + std::to_string(program);
    const auto second = program + 1 == kProgramCount ? kOnSecondServer : std::uint8_t{0};
    unsigned place = 1;
    for (const Odd& odd : odd_frames()) {
      place = place * 5 % 13;
      Seed(program, kLate)
          .fault(place, Fault::Kind::insert, 0, odd.message, odd.payload)
          .fault(2, Fault::Kind::replace, kWithCommandIds | second, odd.message, odd.payload)
          .write(folder + "/" + odd.name + number);
    }
    // Each answer with one byte changed, such as a length.
    for (unsigned i = 0; i < 24; ++i) {
      const std::string change{static_cast<char>(8 + 4 * i), 0, static_cast<char>(i % 3)};
      Seed(program, kLate)
          .fault(i, Fault::Kind::edit, kWithCommandIds, change)
          .write(folder + "/edit_" + std::to_string(i) + number);
    }
    Seed(program, kLate)
        .fault(4, Fault::Kind::withhold)
        .fault(3, Fault::Kind::withhold)
        .write(folder + "/late" + number);
    Seed(program).fault(6, Fault::Kind::withhold, second).write(folder + "/never" + number);
    Seed(program)
        .fault(5, Fault::Kind::leave)
        .fault(2, Fault::Kind::leave, second)
        .write(folder + "/left" + number);
    Seed(program).fault(5, Fault::Kind::raw, second, "no frame").write(folder + "/raw" + number);
    Seed(program).fault(7, Fault::Kind::twice, second).write(folder + "/twice" + number);
    Seed(program)
        .fault(3, Fault::Kind::overwrite_shared_memory, 0, "\xff")
        .write(folder + "/scribble" + number);
    Seed(program, kWelcome)
        .fault(0, Fault::Kind::edit, 0, std::string("\x40\x00\x01", 3))
        .write(folder + "/welcome" + number);
  }
}

// Answers to the query for the devices of a type, which program 4 makes first: none, half of one, one twice, unknown ones.
void write_devices(const std::string& folder) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<std::uint8_t> device(sizeof kDevice);
  std::memcpy(device.data(), &kDevice, sizeof kDevice);
  std::vector<std::uint8_t> twice = device;
  twice.insert(twice.end(), device.begin(), device.end());
  const std::vector<std::vector<std::uint8_t>> lists{
      {}, {device.begin(), device.begin() + 5}, twice, std::vector<std::uint8_t>(4000, 1)};
  for (unsigned after : {1U, 2U}) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto answer = wire::CreateAnswer(b, 1, CL_SUCCESS, 0, 0, b.CreateVector(lists[i]));
      Seed(4)
          .fault(after, Fault::Kind::replace, kWithCommandIds, frame(b, answer))
          .write(folder + "/of_type_" + std::to_string(i) + "_" + std::to_string(after));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  for (unsigned program = 0; program < kProgramCount; ++program) {
    Seed(program).write(folder + "/good_" + std::to_string(program));
    Seed(program, 0, 0x22).write(folder + "/plain_" + std::to_string(program));
  }
  write_bad(folder);
  write_devices(folder);
  return 0;
}
