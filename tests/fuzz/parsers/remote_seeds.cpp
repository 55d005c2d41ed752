// Writes seeds for the harness `remote`: the messages of valid clients. Usage: remote_seeds FOLDER.
#include <fstream>
#include <string>
#include <vector>

#include "base/opencl.h"
#include "remote/protocol/features.h"
#include "remote/protocol/messages.h"

namespace {

namespace wire = cleave::remote::wire;

class Conversation {
 public:
  struct Head {
    std::uint32_t request = 0;
    std::uint64_t queue = 0;
    std::uint64_t event = 0;
    std::vector<std::uint64_t> waits{};
    std::uint64_t payload = 0;
  };

  template <typename Body>
  void add(const Head& head, flatbuffers::Offset<Body> body) {
    const auto waits = builder.CreateVector(head.waits);
    commands_.push_back(wire::CreateCommand(builder, head.request, head.queue, head.event, waits,
                                            head.payload, nullptr, wire::BodyTraits<Body>::enum_value,
                                            body.Union()));
    payload_ += head.payload;
  }

  void end_frame() {
    builder.Finish(wire::CreateCommands(builder, builder.CreateVector(commands_)));
    const std::size_t size = builder.GetSize();
    for (const std::size_t number : {size, static_cast<std::size_t>(payload_)}) {
      text_.push_back(static_cast<char>(number & 0xffU));
      text_.push_back(static_cast<char>(number >> 8U));
    }
    text_.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), size);
    builder.Clear();
    commands_.clear();
    payload_ = 0;
  }

  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << text_; }

  flatbuffers::FlatBufferBuilder builder;

 private:
  std::vector<flatbuffers::Offset<wire::Command>> commands_;
  std::uint64_t payload_ = 0;
  std::string text_;
};

constexpr std::uint64_t kDevice = cleave::remote::kFirstServerId + 1;

void begin(Conversation& talk, std::uint64_t bits) {
  auto& b = talk.builder;
  talk.add({}, wire::CreateCreateContext(b, 1, b.CreateVector<std::uint64_t>({kDevice})));
  talk.add({.request = 1},
           wire::CreateCreateQueue(b, 2, 1, kDevice, b.CreateVector<std::uint64_t>({bits}), true));
  talk.add({.payload = 256}, wire::CreateCreateBuffer(b, 3, 1, CL_MEM_READ_WRITE, 256));
}

Conversation transfers(std::uint64_t bits) {
  Conversation talk;
  begin(talk, bits);
  auto& b = talk.builder;
  const wire::Size3 zero(0, 0, 0);
  const wire::Size3 region(4, 4, 2);
  talk.add({.queue = 2, .event = 10, .payload = 64}, wire::CreateWriteBuffer(b, 3, 0, 64));
  talk.add({.request = 2, .queue = 2, .event = 11, .waits = {10}}, wire::CreateReadBuffer(b, 3, 0, 256));
  talk.add({.request = 3, .queue = 2}, wire::CreateReadBufferRect(b, 3, &zero, &region, 8, 32));
  talk.add({.queue = 2, .payload = 32}, wire::CreateWriteBufferRect(b, 3, &zero, &region, 8, 32));
  talk.add({.queue = 2}, wire::CreateFillBuffer(b, 3, b.CreateVector<std::uint8_t>({1, 2, 3, 4}), 0, 64));
  talk.end_frame();
  const wire::ImageFormat format(CL_RGBA, CL_UNORM_INT8);
  const wire::ImageDesc desc(4, 4, 0, 0, 0, 0, CL_MEM_OBJECT_IMAGE2D, 0, 0);
  talk.add({.request = 4, .payload = 64},
           wire::CreateCreateImage(b, 5, 1, CL_MEM_READ_WRITE, &format, &desc));
  talk.add({.request = 5, .queue = 2}, wire::CreateReadImage(b, 5, &zero, &region));
  talk.add({.queue = 2, .payload = 128}, wire::CreateWriteImage(b, 5, &zero, &region));
  talk.add({.queue = 2},
           wire::CreateFillImage(b, 5, b.CreateVector(std::vector<std::uint8_t>(16, 1)), &zero, &region));
  talk.add({.request = 6, .queue = 2}, wire::CreateFinishQueue(b));
  talk.add({}, wire::CreateRelease(b, b.CreateVector<std::uint64_t>({3, 5, 2, 10, 1})));
  talk.end_frame();
  return talk;
}

Conversation kernels() {
  Conversation talk;
  begin(talk, CL_QUEUE_PROFILING_ENABLE);
  auto& b = talk.builder;
  const wire::Size3 size(64, 1, 1);
  talk.add({.payload = 40}, wire::CreateCreateProgramWithSource(b, 4, 1));
  talk.add({.request = 1}, wire::CreateBuildProgram(b, 4, 0, b.CreateString("-w")));
  talk.add({.request = 2}, wire::CreateCreateKernel(b, 6, 4, b.CreateString("add")));
  talk.add({}, wire::CreateSetKernelArg(b, 6, 0, 8, wire::Argument::object, 3));
  talk.add({}, wire::CreateSetKernelArg(b, 6, 1, 4, wire::Argument::bytes, 0,
                                        b.CreateVector<std::uint8_t>({1, 2, 3, 4})));
  talk.add({.queue = 2, .event = 20}, wire::CreateNDRange(b, 6, 1, nullptr, &size, &size));
  talk.add({}, wire::CreateWatchEvent(b, 20));
  talk.add({}, wire::CreateCreateUserEvent(b, 21, 1));
  talk.add({.queue = 2, .waits = {20, 21}}, wire::CreateMarker(b));
  talk.add({}, wire::CreateSetUserEventStatus(b, 21, 0));
  talk.end_frame();
  talk.add({.request = 3}, wire::CreateQuery(b, wire::InfoSubject::program, 4, 0, CL_PROGRAM_BINARIES));
  talk.add({.request = 4}, wire::CreateQuery(b, wire::InfoSubject::kernel, 6, 0, CL_KERNEL_NUM_ARGS));
  talk.add({.request = 5, .payload = 14},
           wire::CreateCreateProgramWithBinary(b, 7, 1, b.CreateVector<std::uint64_t>({kDevice}),
                                               b.CreateVector<std::uint64_t>({14})));
  talk.add({.request = 6},
           wire::CreateLinkProgram(b, 8, 1, 0, b.CreateString(""), b.CreateVector<std::uint64_t>({4, 7})));
  talk.add({.request = 7}, wire::CreateSvmAlloc(b, 1, CL_MEM_READ_WRITE, 64, 0));
  talk.add({}, wire::CreatePing(b, 5));
  talk.end_frame();
  return talk;
}

Conversation sources() {
  Conversation talk;
  auto& b = talk.builder;
  talk.add({}, wire::CreateCreateContext(b, 1, b.CreateVector<std::uint64_t>({kDevice})));
  talk.add({.payload = 40}, wire::CreateCreateProgramWithSource(b, 4, 1));
  const auto included = [&] {
    const auto names = b.CreateVectorOfStrings({"/home/me/././one/../a.h", "/usr/b.h", "/usr/c/"});
    const auto sizes = b.CreateVector<std::uint64_t>({10, 20, 0});
    return wire::CreateIncluded(b, names, sizes, b.CreateVectorOfStrings({"-w -I ", "/home/me -I ", "/usr"}));
  };
  const auto first = included();
  talk.add({.request = 1, .payload = 30}, wire::CreateBuildProgram(b, 4, 0, b.CreateString("-w"), first));
  const auto second = included();
  const auto names = b.CreateVectorOfStrings({"given.h"});
  talk.add({.request = 2, .payload = 30},
           wire::CreateCompileProgram(b, 4, 0, b.CreateString("-w"), b.CreateVector<std::uint64_t>({4}),
                                      names, second));
  talk.end_frame();
  return talk;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  transfers(0).write(folder + "/in_order");
  transfers(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE).write(folder + "/out_of_order");
  kernels().write(folder + "/kernels");
  sources().write(folder + "/sources");
  return 0;
}
