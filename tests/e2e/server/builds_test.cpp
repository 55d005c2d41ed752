// Builds of hostile programs, which are stopped at the server's limits, and what programs count for.
#include <chrono>
#include <climits>
#include <regex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/opencl.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

namespace cleave::remote {
namespace {

constexpr std::uint64_t kBuilt = 4;
constexpr std::uint64_t kBuiltKernel = 5;
constexpr std::uint64_t kLinked = 6;
constexpr std::string_view kHarmless = "kernel void k(global int* a) { *a = 1; }";

// A short text that a compiler expands to ten thousand million additions.
std::string bomb() {
  std::string text = "#define a0 1+1+1+1+1+1+1+1+1+1\n";
  for (int i = 1; i < 10; ++i) {
    text += "#define a" + std::to_string(i) + ' ';
    for (int k = 0; k < 10; ++k) text += "a" + std::to_string(i - 1) + '+';
    text += "1\n";
  }
  return text + "kernel void k(global int* o) { *o = a9; }\n";
}

// Of this process alone: not in the driver's cache.
std::string own_text() {
  return std::string(kHarmless) + " // " + std::to_string(::getpid()) + ' ' +
         std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}

// Without those of a compiler's temporary files.
std::string without_names(const std::string& log) {
  return std::regex_replace(log, std::regex("tempfile_\\w+"), "tempfile");
}

// A server, and a client of it with a context.
class Builder {
 public:
  explicit Builder(std::vector<std::string> options) : server(std::move(options)), client(server.endpoint()) {
    EXPECT_TRUE(client.begin());
    client.create_context();
  }
  ~Builder() { EXPECT_EQ(server.log().find("crashed:"), std::string::npos) << server.log(); }

  flatbuffers::FlatBufferBuilder& b() { return client.builder; }
  template <typename Body>
  int answer_to(Body body, std::string_view payload = {}) {
    client.add({.request = ++request, .payload = payload.size()}, body);
    client.send({std::as_bytes(std::span(payload))});
    return client.error_of(request).value_or(INT_MIN);
  }
  int create(std::uint64_t program, std::string_view text) {
    return answer_to(wire::CreateCreateProgramWithSource(b(), program, kContext), text);
  }
  int build(std::uint64_t program, const std::string& options = "") {
    return answer_to(wire::CreateBuildProgram(b(), program, 0, b().CreateString(options)));
  }
  int compile(std::uint64_t program) {
    return answer_to(wire::CreateCompileProgram(b(), program, 0, b().CreateString("")));
  }
  int link(std::uint64_t linked, const std::vector<std::uint64_t>& programs) {
    return answer_to(
        wire::CreateLinkProgram(b(), linked, kContext, 0, b().CreateString(""), b().CreateVector(programs)));
  }
  int create_kernel(std::uint64_t kernel, std::uint64_t program) {
    return answer_to(wire::CreateCreateKernel(b(), kernel, program, b().CreateString("k")));
  }
  int release(std::uint64_t object) {
    return answer_to(wire::CreateRelease(b(), b().CreateVector<std::uint64_t>({object})));
  }
  std::string build_info(std::uint64_t program, cl_program_build_info param) {
    const auto subject = wire::InfoSubject::program_build;
    EXPECT_EQ(answer_to(wire::CreateQuery(b(), subject, program, client.device, param)), CL_SUCCESS);
    return client.received.texts[request];
  }
  // Of a build that the server has stopped the client sees what it would see of one that has failed.
  void expect_stopped(std::uint64_t program, std::string_view limit) {
    const std::string log = build_info(program, CL_PROGRAM_BUILD_LOG);
    EXPECT_NE(log.find(limit), std::string::npos) << log;
    EXPECT_EQ(static_cast<signed char>(build_info(program, CL_PROGRAM_BUILD_STATUS).at(0)), CL_BUILD_ERROR);
    EXPECT_EQ(create_kernel(kBuiltKernel, program), CL_INVALID_PROGRAM_EXECUTABLE);
  }

  ServerProcess server;
  RawClient client;
  std::uint32_t request = 0;
};

TEST(Builds, EndlessBuildFailsAndItsClientGoesOn) {
  Builder builder({"--build-time", "1", "--build-memory", "1T"});
  ASSERT_EQ(builder.create(kBuilt, bomb()), CL_SUCCESS);
  EXPECT_EQ(builder.build(kBuilt, "-DX=1"), CL_BUILD_PROGRAM_FAILURE);
  builder.expect_stopped(kBuilt, "--build-time");
  EXPECT_EQ(builder.build_info(kBuilt, CL_PROGRAM_BUILD_OPTIONS), std::string("-DX=1") + '\0');
  ASSERT_EQ(builder.create(10, kHarmless), CL_SUCCESS);
  EXPECT_EQ(builder.build(10), CL_SUCCESS);
  EXPECT_EQ(builder.create_kernel(11, 10), CL_SUCCESS);
}

TEST(Builds, CompilationThatNeedsTooMuchMemoryFails) {
  Builder builder({"--build-memory", "16M"});
  ASSERT_EQ(builder.create(kBuilt, bomb()), CL_SUCCESS);
  EXPECT_EQ(builder.compile(kBuilt), CL_COMPILE_PROGRAM_FAILURE);
  builder.expect_stopped(kBuilt, "--build-memory");
}

TEST(Builds, LinkWithTooMuchOutputFails) {
  Builder builder({"--build-output", "2M"});
  const std::string table = "[300000] = {[0 ... 299999] = 12345678";  // and one more digit
  std::vector<std::uint64_t> parts;
  for (const char name : {'a', 'b', 'c'}) {
    const std::string text = std::string("constant int ") + name + table + std::to_string(parts.size()) +
                             "}; kernel void of_" + name + "(global int* a) { *a = " + name + "[*a]; }";
    parts.push_back(10 + parts.size());
    ASSERT_EQ(builder.create(parts.back(), text), CL_SUCCESS);
    ASSERT_EQ(builder.compile(parts.back()), CL_SUCCESS);
  }
  EXPECT_EQ(builder.link(kLinked, parts), CL_LINK_PROGRAM_FAILURE);
  builder.expect_stopped(kLinked, "--build-output");
}

TEST(Builds, BuildWithTooMuchOutputFails) {
  Builder builder({"--build-output", "64"});
  ASSERT_EQ(builder.create(kBuilt, own_text()), CL_SUCCESS);
  EXPECT_EQ(builder.build(kBuilt), CL_BUILD_PROGRAM_FAILURE);
  builder.expect_stopped(kBuilt, "--build-output");
}

TEST(Builds, LogsAreTheDrivers) {
  Builder limited({});
  Builder unlimited({"--build-time", "0"});
  for (Builder* const one : {&limited, &unlimited}) {
    ASSERT_EQ(one->create(kBuilt, "kernel void k() { undeclared(); }"), CL_SUCCESS);
    EXPECT_EQ(one->build(kBuilt), CL_BUILD_PROGRAM_FAILURE);
    ASSERT_EQ(one->create(10, kHarmless), CL_SUCCESS);
    EXPECT_NE(one->build(10, "-not-an-option"), CL_SUCCESS);
  }
  for (const cl_program_build_info param :
       {CL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BINARY_TYPE}) {
    for (const std::uint64_t program : {kBuilt, std::uint64_t{10}}) {
      EXPECT_EQ(without_names(limited.build_info(program, param)),
                without_names(unlimited.build_info(program, param)))
          << param;
    }
  }
}

// All of what follows: a limit of 16 MiB.
class ProgramMemory : public testing::Test {
 protected:
  static constexpr std::size_t kMega = std::size_t{1} << 20U;
  static std::string text_of(std::size_t size) {
    return std::string(kHarmless) + std::string(size - kHarmless.size(), ' ');
  }

  Builder builder_{{"--memory-per-client", "16M"}};
};

TEST_F(ProgramMemory, TextsAreCounted) {
  constexpr std::uint32_t kTexts = 1024;
  const std::string text = text_of(kMega);
  RawClient& client = builder_.client;
  std::vector<std::span<const std::byte>> payloads;
  for (std::uint32_t i = 1; i <= kTexts; ++i) {
    client.add({.request = i, .payload = text.size()},
               wire::CreateCreateProgramWithSource(builder_.b(), 100 + i, kContext));
    payloads.push_back(std::as_bytes(std::span(text)));
  }
  client.send(payloads);
  ASSERT_TRUE(client.await_answer(kTexts));
  for (std::uint32_t i = 1; i <= kTexts; ++i)
    EXPECT_EQ(client.received.answers[i], i <= 16 ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY) << i;
}

TEST_F(ProgramMemory, IsFreedWithTheProgramAndItsKernels) {
  ASSERT_EQ(builder_.create(kBuilt, text_of(10 * kMega)), CL_SUCCESS);
  ASSERT_EQ(builder_.build(kBuilt), CL_SUCCESS);
  ASSERT_EQ(builder_.create_kernel(kBuiltKernel, kBuilt), CL_SUCCESS);
  ASSERT_EQ(builder_.release(kBuilt), CL_SUCCESS);
  const std::string text = text_of(10 * kMega);
  EXPECT_EQ(builder_.create(10, text), CL_OUT_OF_HOST_MEMORY) << "a kernel keeps its program";
  ASSERT_EQ(builder_.release(kBuiltKernel), CL_SUCCESS);
  EXPECT_EQ(builder_.create(11, text), CL_SUCCESS);
}

TEST_F(ProgramMemory, UnansweredCreationFailsAtTheBuild) {
  const std::string text = text_of(17 * kMega);
  builder_.client.create_program(kBuilt, text);
  builder_.client.send({std::as_bytes(std::span(text))});
  EXPECT_EQ(builder_.build(kBuilt), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(builder_.client.received.failures, std::vector<int>{CL_OUT_OF_HOST_MEMORY});
  EXPECT_EQ(builder_.release(kBuilt), CL_SUCCESS);
}

TEST_F(ProgramMemory, BinariesOptionsNamesAndFilesAreCounted) {
  auto& b = builder_.b();
  const std::string binary(9 * kMega, 'x');
  EXPECT_EQ(builder_.answer_to(wire::CreateCreateProgramWithBinary(
                                   b, 20, kContext, b.CreateVector<std::uint64_t>({builder_.client.device}),
                                   b.CreateVector<std::uint64_t>({binary.size()})),
                               binary),
            CL_OUT_OF_HOST_MEMORY)
      << "the driver and the server keep it";
  EXPECT_EQ(builder_.answer_to(wire::CreateCreateProgramWithIL(b, 21, kContext), binary),
            CL_OUT_OF_HOST_MEMORY);
  ASSERT_EQ(builder_.create(kBuilt, text_of(15 * kMega)), CL_SUCCESS);
  const std::string large(2 * kMega, ' ');
  EXPECT_EQ(builder_.build(kBuilt, large), CL_OUT_OF_HOST_MEMORY);
  const auto names = b.CreateVectorOfStrings(std::vector<std::string>{large});
  EXPECT_EQ(builder_.answer_to(wire::CreateCompileProgram(b, kBuilt, 0, b.CreateString(""),
                                                          b.CreateVector<std::uint64_t>({kBuilt}), names)),
            CL_OUT_OF_HOST_MEMORY);
  const auto included = wire::CreateIncluded(b, b.CreateVectorOfStrings(std::vector<std::string>{"/a.h"}),
                                             b.CreateVector<std::uint64_t>({large.size()}),
                                             b.CreateVectorOfStrings(std::vector<std::string>{""}));
  EXPECT_EQ(builder_.answer_to(wire::CreateBuildProgram(b, kBuilt, 0, b.CreateString(""), included), large),
            CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(builder_.compile(kBuilt), CL_SUCCESS);
  EXPECT_EQ(builder_.link(kLinked, {kBuilt}), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(builder_.build(kBuilt), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::remote
