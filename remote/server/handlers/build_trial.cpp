#include "remote/server/handlers/build_trial.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "remote/server/handlers/build_info.h"
#include "remote/server/processes/log.h"

namespace cleave::remote::server {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Empty: the driver does not have it.
std::optional<std::string> source_of(const Table& cl, cl_program program) {
  std::size_t size = 0;
  if (cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &size) != CL_SUCCESS) return std::nullopt;
  std::string text(size, '\0');
  if (size == 0) return text;
  if (cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text.data(), nullptr) != CL_SUCCESS)
    return std::nullopt;
  text.pop_back();  // the terminating zero
  return text;
}

// Of the devices of the build, each place once.
struct Target {
  std::vector<cl_device_id> devices;
  std::vector<DevicePlace> places;
};

std::optional<Target> target_of(const SessionContext& session, const std::vector<cl_device_id>& devices) {
  Target target;
  for (const cl_device_id device : devices) {
    const auto place = session.place_of(device);
    if (!place) return std::nullopt;
    if (std::find(target.places.begin(), target.places.end(), *place) != target.places.end()) continue;
    target.devices.push_back(device);
    target.places.push_back(*place);
  }
  return target;
}

// What the program is made of, one text or binary for each device; `origin` becomes what they are. Empty: the driver does not have it.
std::optional<std::vector<std::string>> texts_of(const Table& cl, const HeldProgram& program,
                                                 bool is_compiled, const Target& target,
                                                 ipc::ProgramOrigin& origin) {
  using Origin = ProgramState::Origin;
  const Origin made_of = program.state().origin();
  if (!is_compiled && made_of == Origin::source) {
    auto text = source_of(cl, program.get());
    return text ? std::optional(std::vector{std::move(*text)}) : std::nullopt;
  }
  if (!is_compiled && made_of == Origin::il) {
    origin = ipc::ProgramOrigin::il;
    return program.state().parts();
  }
  origin = ipc::ProgramOrigin::binaries;
  const std::vector<cl_device_id> all = devices_of_program(cl, program.get());
  // Not every driver returns what it has been given.
  cl_int error = CL_SUCCESS;
  const auto binaries =
      made_of == Origin::binaries ? program.state().parts() : binaries_of(cl, program.get(), error);
  if (error != CL_SUCCESS || binaries.size() != all.size()) return std::nullopt;
  std::vector<std::string> texts;
  for (const cl_device_id device : target.devices) {
    const auto found = std::find(all.begin(), all.end(), device);
    if (found == all.end()) return std::nullopt;
    texts.push_back(binaries[static_cast<std::size_t>(found - all.begin())]);
  }
  return texts;
}

// Throws std::bad_alloc if it is longer than a message can be.
Offset<ipc::TrialProgram> add_program(Builder& builder, const ProgramState& state, ipc::ProgramOrigin origin,
                                      const std::vector<std::string>& texts) {
  constexpr std::uint64_t kMost = FLATBUFFERS_MAX_BUFFER_SIZE - (std::uint64_t{16} << 20U);
  std::vector<Offset<ipc::SpecializationConstant>> constants;
  for (const auto& [id, value] : state.constants())
    constants.push_back(ipc::CreateSpecializationConstant(builder, id, builder.CreateString(value)));
  std::uint64_t size = builder.GetSize();
  for (const std::string& text : texts) size += text.size();
  if (size > kMost) throw std::bad_alloc();
  return ipc::CreateTrialProgram(builder, origin, builder.CreateVectorOfStrings(texts),
                                 builder.CreateVector(constants));
}

// False: the driver does not have what is to be built.
bool write_request(const SessionContext& session, const WantedBuild& build, Builder& builder) {
  const auto target = target_of(session, build.devices);
  if (!target) return false;
  std::vector<ipc::TrialDevice> devices;
  for (const DevicePlace& place : target->places) devices.emplace_back(place.platform, place.device);
  std::vector<Offset<ipc::TrialProgram>> programs;
  for (const HeldProgram& program : build.programs) {
    ipc::ProgramOrigin origin = ipc::ProgramOrigin::source;
    const auto texts = texts_of(session.cl, program, build.work == ipc::TrialWork::link, *target, origin);
    if (!texts) return false;
    programs.push_back(add_program(builder, program.state(), origin, *texts));
  }
  const Offset<flatbuffers::String> options =
      build.options != nullptr ? builder.CreateString(build.options) : Offset<flatbuffers::String>();
  builder.Finish(ipc::CreateTrialRequest(
      builder, build.work, builder.CreateVectorOfStructs(devices), builder.CreateString(build.folder),
      options, builder.CreateVector(programs), builder.CreateVectorOfStrings(build.names)));
  return true;
}

// Once for each client: the operator is to know.
void report_untried() {
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true))
    log_line("builds have no limits: the driver cannot build in a separate process");
}

cl_int failure_of(ipc::TrialWork work) {
  switch (work) {
    case ipc::TrialWork::build:
      return CL_BUILD_PROGRAM_FAILURE;
    case ipc::TrialWork::compile:
      return CL_COMPILE_PROGRAM_FAILURE;
    case ipc::TrialWork::link:
      break;
  }
  return CL_LINK_PROGRAM_FAILURE;
}

}  // namespace

std::optional<Refusal> refusal_of(SessionContext& session, const WantedBuild& build) try {
  using Outcome = BuildTrials::Outcome;
  const bool is_of_ours =
      !build.programs.empty() && build.programs[0].state().origin() == ProgramState::Origin::built_in;
  if (session.trials == nullptr || is_of_ours) return std::nullopt;
  Builder request;
  if (!write_request(session, build, request))
    return std::nullopt;  // the driver has nothing that it could link
  const auto verdict =
      session.trials->attempt({reinterpret_cast<const char*>(request.GetBufferPointer()), request.GetSize()});
  switch (verdict.outcome) {
    case Outcome::passed:
      return std::nullopt;
    case Outcome::untried:
      report_untried();
      return std::nullopt;
    case Outcome::no_process:
      return Refusal{CL_OUT_OF_RESOURCES, {}};
    case Outcome::refused:
      break;
  }
  return Refusal{failure_of(build.work), "cleave: the server stopped this build: " + verdict.problem + "\n"};
} catch (const std::bad_alloc&) {
  return Refusal{CL_OUT_OF_HOST_MEMORY, {}};
}

}  // namespace cleave::remote::server
