// Kernels and their arguments.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/handlers/build_info.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {
namespace {

constexpr cl_uint kMaxArguments = 4096;

ArgumentKind argument_kind(cl_kernel_arg_address_qualifier space, const std::string& type) {
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) return ArgumentKind::local;
  if (type.starts_with("sampler_t")) return ArgumentKind::sampler;
  if (type.starts_with("queue_t")) return ArgumentKind::queue;
  const bool is_image = type.starts_with("image") && type.find("_t") != std::string::npos;
  const bool is_memory = space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  return is_memory || is_image || type.starts_with("pipe") ? ArgumentKind::memory : ArgumentKind::value;
}

// Whether the driver interprets the bytes of such an argument as one of its handles.
bool is_handle(ArgumentKind expected) {
  return expected == ArgumentKind::memory || expected == ArgumentKind::sampler ||
         expected == ArgumentKind::queue;
}

bool accepts(Kind kind, ArgumentKind expected) {
  const bool is_bindable = kind == Kind::memory || kind == Kind::sampler || kind == Kind::queue;
  if (expected == ArgumentKind::unknown) return is_bindable;
  return (kind == Kind::memory && expected == ArgumentKind::memory) ||
         (kind == Kind::sampler && expected == ArgumentKind::sampler) ||
         (kind == Kind::queue && expected == ArgumentKind::queue);
}

// The error that drivers return for a handle of the wrong kind.
cl_int invalid_error_for(ArgumentKind expected) {
  return expected == ArgumentKind::sampler ? CL_INVALID_SAMPLER
         : expected == ArgumentKind::queue ? CL_INVALID_DEVICE_QUEUE
                                           : CL_INVALID_MEM_OBJECT;
}

// Empty if the driver does not report it; then arguments are passed to the driver unchecked.
Arguments arguments_of(SessionContext& session, cl_kernel kernel) {
  Arguments arguments;
  const auto count = opencl::info<cl_uint>(session.cl.clGetKernelInfo, kernel, CL_KERNEL_NUM_ARGS);
  for (cl_uint i = 0; i < std::min(count, kMaxArguments); ++i) {
    cl_kernel_arg_address_qualifier space = 0;
    const cl_int error = session.cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                                       sizeof space, &space, nullptr);
    if (error != CL_SUCCESS) return {};
    const InfoResult type = query_info([&](auto... rest) {
      return session.cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, rest...);
    });
    arguments.push_back(argument_kind(space, std::string(type.bytes.begin(), type.bytes.end())));
  }
  return arguments;
}

// Registers what the kernel counts for.
bool hold_kernel(SessionContext& session, KernelState& state, std::size_t name) {
  state.memory = session.memory.hold(name + state.arguments.size() * sizeof(ArgumentKind));
  return state.memory != nullptr;
}

// The driver keeps an argument's value; small ones are part of what a kernel is.
constexpr std::size_t kSmallValue = 64;
constexpr cl_uint kExecInfo = CL_UINT_MAX;  // what clSetKernelExecInfo sets, in addition to the arguments

// Calls `set` with a value of that size for the argument.
template <typename Set>
cl_int set_held(SessionContext& session, KernelState& kernel, cl_uint index, std::size_t size, Set set) {
  if (size <= kSmallValue) return set();
  auto memory = session.memory.hold(size);
  if (memory == nullptr) return CL_OUT_OF_HOST_MEMORY;
  const cl_int error = set();
  if (error == CL_SUCCESS) kernel.arguments_memory[index] = std::move(memory);
  return error;
}

// All that does not change, so that the client need not query it.
void describe_kernel(SessionContext& session, flatbuffers::FlatBufferBuilder& builder, Infos& infos,
                     cl_kernel kernel) {
  for (const cl_kernel_info param : {CL_KERNEL_FUNCTION_NAME, CL_KERNEL_NUM_ARGS, CL_KERNEL_ATTRIBUTES}) {
    add_info(builder, infos, wire::InfoSubject::kernel, param,
             query_info([&](auto... rest) { return session.cl.clGetKernelInfo(kernel, param, rest...); }));
  }
  const auto count = opencl::info<cl_uint>(session.cl.clGetKernelInfo, kernel, CL_KERNEL_NUM_ARGS);
  for (cl_uint i = 0; i < std::min(count, kMaxArguments); ++i) {
    for (const cl_kernel_arg_info param :
         {CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_ACCESS_QUALIFIER, CL_KERNEL_ARG_TYPE_NAME,
          CL_KERNEL_ARG_TYPE_QUALIFIER, CL_KERNEL_ARG_NAME}) {
      add_info(builder, infos, wire::InfoSubject::kernel_argument, param, query_info([&](auto... rest) {
                 return session.cl.clGetKernelArgInfo(kernel, i, param, rest...);
               }),
               i);
    }
  }
  const auto program = opencl::info<cl_program>(session.cl.clGetKernelInfo, kernel, CL_KERNEL_PROGRAM);
  for (const cl_device_id device : devices_of_program(session.cl, program)) {
    // Not the sizes of local and private memory, which depend on the arguments.
    for (const cl_kernel_work_group_info param :
         {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
          CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE}) {
      const InfoResult result = query_info(
          [&](auto... rest) { return session.cl.clGetKernelWorkGroupInfo(kernel, device, param, rest...); });
      add_info(builder, infos, wire::InfoSubject::kernel_work_group, param, result, 0,
               session.objects.id_of(device));
    }
  }
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::CreateKernel& message) {
  if (!session.may_create(command, message.id())) return;
  const auto of = session.objects.find(message.program());
  auto* const program = session.objects.handle<cl_program>(message.program());
  if (program == nullptr) return session.reply(command, message.id(), CL_INVALID_PROGRAM);
  if (message.name() == nullptr) return session.reply(command, message.id(), CL_INVALID_VALUE);
  if (is_refused(session.cl, program, *of->program))
    return session.reply(command, message.id(), CL_INVALID_PROGRAM_EXECUTABLE);
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel = session.cl.clCreateKernel(program, message.name()->c_str(), &error);
  if (error != CL_SUCCESS) return session.reply(command, message.id(), error);
  Object object{Kind::kernel, kernel};
  object.kernel = std::make_shared<KernelState>();
  object.kernel->arguments = arguments_of(session, kernel);
  object.kernel->program = of->program;
  if (!hold_kernel(session, *object.kernel, message.name()->size())) {
    session.cl.clReleaseKernel(kernel);
    return session.reply(command, message.id(), CL_OUT_OF_HOST_MEMORY);
  }
  const auto count = opencl::info<cl_uint>(session.cl.clGetKernelInfo, kernel, CL_KERNEL_NUM_ARGS);
  object.overhead += count * kOverheadOfArgument;
  if (!session.register_object(message.id(), std::move(object))) return;
  if (command.request() == 0) return;
  auto& builder = session.answers.builder();
  Infos infos;
  describe_kernel(session, builder, infos, kernel);
  const auto list = builder.CreateVector(infos);
  session.answers.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, 0, 0, 0, list));
}

void handle(SessionContext& session, const wire::Command& command, const wire::CloneKernel& message) {
  if (!session.may_create(command, message.id())) return;
  const auto object = session.objects.find(message.kernel());
  if (!object || object->kind != Kind::kernel) return session.reply(command, message.id(), CL_INVALID_KERNEL);
  cl_int error = CL_SUCCESS;
  auto state = std::make_shared<KernelState>(*object->kernel);
  state->memory = session.memory.hold(object->kernel->memory->size());
  for (auto& [index, memory] : state->arguments_memory) {
    memory = session.memory.hold(memory->size());
    if (memory == nullptr) state->memory = nullptr;
  }
  if (state->memory == nullptr) return session.reply(command, message.id(), CL_OUT_OF_HOST_MEMORY);
  const cl_kernel kernel = session.cl.clCloneKernel(static_cast<cl_kernel>(object->handle), &error);
  Object clone{Kind::kernel, kernel};
  clone.kernel = std::move(state);
  clone.overhead = object->overhead;
  session.register_created(command, message.id(), std::move(clone), error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SetKernelArg& message) {
  const auto object = session.objects.find(message.kernel());
  const std::uint64_t id = message.kernel();
  if (!object || object->kind != Kind::kernel) return session.reply(command, id, CL_INVALID_KERNEL);
  auto* const kernel = static_cast<cl_kernel>(object->handle);
  const Arguments& arguments = object->kernel->arguments;
  // Unknown if the driver does not report it.
  const ArgumentKind expected =
      message.index() < arguments.size() ? arguments[message.index()] : ArgumentKind::unknown;
  switch (message.kind()) {
    case wire::Argument::local:
      return session.reply(command, id,
                           session.cl.clSetKernelArg(kernel, message.index(), message.size(), nullptr));
    case wire::Argument::svm: {
      // A null pointer is valid, others have to point into the client's allocations.
      if (message.object() != 0 && !session.svm.contains(message.object(), 0))
        return session.reply(command, id, CL_INVALID_ARG_VALUE);
      return session.reply(
          command, id,
          session.cl.clSetKernelArgSVMPointer(kernel, message.index(), svm_pointer(message.object())));
    }
    case wire::Argument::object: {
      if (message.size() != sizeof(void*)) return session.reply(command, id, CL_INVALID_ARG_SIZE);
      // A kernel must not receive a driver's handle as a plain value.
      if (expected == ArgumentKind::value || expected == ArgumentKind::local)
        return session.reply(command, id, CL_INVALID_ARG_VALUE);
      void* handle = nullptr;
      if (message.object() != 0) {
        const auto value = session.objects.find(message.object());
        const bool fits = value && accepts(value->kind, expected);
        if (!fits) return session.reply(command, id, invalid_error_for(expected));
        handle = value->handle;
      }
      return session.reply(command, id,
                           session.cl.clSetKernelArg(kernel, message.index(), sizeof handle, &handle));
    }
    case wire::Argument::bytes:
      break;
  }
  const auto* const value = message.value();
  if (value == nullptr || value->size() > kMaxArgument)
    return session.reply(command, id, CL_INVALID_ARG_VALUE);
  // The driver would interpret the bytes as one of its handles.
  if (is_handle(expected) && value->size() == sizeof(void*))
    return session.reply(command, id, invalid_error_for(expected));
  session.reply(command, id, set_held(session, *object->kernel, message.index(), value->size(), [&] {
                  return session.cl.clSetKernelArg(kernel, message.index(), value->size(), value->data());
                }));
}

void handle(SessionContext& session, const wire::Command& command, const wire::SetKernelExecInfo& message) {
  const auto object = session.objects.find(message.kernel());
  const std::uint64_t id = message.kernel();
  if (!object || object->kind != Kind::kernel) return session.reply(command, id, CL_INVALID_KERNEL);
  auto* const kernel = static_cast<cl_kernel>(object->handle);
  const auto* const value = message.value();
  if (value == nullptr)
    return session.reply(command, id, session.cl.clSetKernelExecInfo(kernel, message.param(), 0, nullptr));
  if (value->size() > kMaxArgument) return session.reply(command, id, CL_INVALID_VALUE);
  if (message.param() == CL_KERNEL_EXEC_INFO_SVM_PTRS) {
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= value->size(); at += sizeof(std::uint64_t)) {
      std::uint64_t address = 0;
      std::memcpy(&address, value->data() + at, sizeof address);
      if (!session.svm.contains(address, 0)) return session.reply(command, id, CL_INVALID_VALUE);
    }
  }
  // Aligned, since the driver may read pointers from it; not null, even if it is empty.
  std::vector<std::uint64_t> aligned(value->size() / 8 + 1);
  if (value->size() > 0) std::memcpy(aligned.data(), value->data(), value->size());
  session.reply(command, id, set_held(session, *object->kernel, kExecInfo, value->size(), [&] {
                  return session.cl.clSetKernelExecInfo(kernel, message.param(), value->size(),
                                                        aligned.data());
                }));
}

void handle(SessionContext& session, const wire::Command& command,
            const wire::SetDefaultDeviceQueue& message) {
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto device = session.objects.handle<cl_device_id>(message.device());
  const auto queue = session.objects.handle<cl_command_queue>(message.queue());
  session.reply(command, message.queue(),
                context == nullptr  ? CL_INVALID_CONTEXT
                : device == nullptr ? CL_INVALID_DEVICE
                : queue == nullptr && message.queue() != 0
                    ? CL_INVALID_COMMAND_QUEUE
                    : session.cl.clSetDefaultDeviceCommandQueue(context, device, queue));
}

}  // namespace cleave::remote::server
