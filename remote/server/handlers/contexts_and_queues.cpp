// What is created and released: contexts, queues, samplers, events.
#include <array>
#include <memory>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/session.h"

namespace cleave::remote::server {
namespace {

// Pairs, and the zero that ends them for OpenCL; one more, should the last pair be half of one.
template <typename Property, typename Wire>
std::vector<Property> zero_terminated(const flatbuffers::Vector<Wire>* properties) {
  std::vector<Property> list;
  for (const Wire one : numbers(properties)) list.push_back(static_cast<Property>(one));
  list.insert(list.end(), 2, 0);
  return list;
}

struct ContextObserver {
  Outbox& outbox;
  std::uint64_t context;
};

void CL_CALLBACK notify(const char* text, const void* data, size_t size, void* user_data) {
  constexpr std::size_t kMost = 4096;
  const auto& observer = *static_cast<const ContextObserver*>(user_data);
  EventsFrame frame;
  auto& builder = frame.builder();
  const auto words = builder.CreateString(text != nullptr ? text : "");
  const auto bytes = builder.CreateVector(static_cast<const std::uint8_t*>(data),
                                          data != nullptr && size <= kMost ? size : 0);
  frame.add(wire::CreateContextError(builder, observer.context, words, bytes));
  observer.outbox.send(frame);
}

}  // namespace

void ClientSession::handle(const wire::Command& command, const wire::CreateSubDevices& message) {
  const auto device = objects_.handle<cl_device_id>(message.device());
  if (device == nullptr) return reply(command, message.first(), CL_INVALID_DEVICE);
  if (is_empty(message.properties())) return reply(command, message.first(), CL_INVALID_VALUE);
  const auto properties = zero_terminated<cl_device_partition_property>(message.properties());
  cl_uint count = 0;
  cl_int error = cl_.clCreateSubDevices(device, properties.data(), 0, nullptr, &count);
  std::vector<cl_device_id> made(count);
  if (error == CL_SUCCESS)
    error = cl_.clCreateSubDevices(device, properties.data(), count, made.data(), nullptr);
  if (error != CL_SUCCESS) return reply(command, message.first(), error);
  std::vector<flatbuffers::Offset<wire::Device>> devices;
  for (cl_uint i = 0; i < count; ++i) {
    const std::uint64_t id = message.first() + i;
    if (!check_new_id(id)) return;
    if (!objects_.add(id, {Kind::device, made[i], CL_SUCCESS, 0, {}, {}}))
      return report_violation("an id that it may not choose");
    if (command.request() != 0)
      devices.push_back(describe(cl_, answers_.builder(), OfferedDevice{id, made[i]}));
  }
  if (command.request() == 0) return;
  auto& builder = answers_.builder();
  const auto list = builder.CreateVector(devices);
  answers_.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, count, 0, 0, 0, list));
}

void ClientSession::handle(const wire::Command& command, const wire::CreateContext& message) {
  if (!check_new_id(message.id())) return;
  const auto devices = devices_of(message.devices());
  if (!devices) return reply(command, message.id(), CL_INVALID_DEVICE);
  if (devices->empty()) return reply(command, message.id(), CL_INVALID_VALUE);
  std::vector<cl_context_properties> properties;
  // Anything else would be a handle of the client's machine.
  const auto wanted = numbers(message.properties());
  for (std::size_t i = 0; i + 1 < wanted.size(); i += 2) {
    if (wanted[i] != CL_CONTEXT_INTEROP_USER_SYNC) return reply(command, message.id(), CL_INVALID_PROPERTY);
    properties.push_back(wanted[i]);
    properties.push_back(wanted[i + 1]);
  }
  cl_platform_id platform = nullptr;
  cl_.clGetDeviceInfo(devices->front(), CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  properties.push_back(CL_CONTEXT_PLATFORM);
  properties.push_back(reinterpret_cast<cl_context_properties>(platform));
  properties.push_back(0);
  // Kept for as long as the process: nobody says when a driver calls for the last time.
  auto* const observer = message.notify() ? new ContextObserver{outbox_, message.id()} : nullptr;
  cl_int error = CL_SUCCESS;
  const cl_context context =
      cl_.clCreateContext(properties.data(), static_cast<cl_uint>(devices->size()), devices->data(),
                          observer != nullptr ? &notify : nullptr, observer, &error);
  if (context == nullptr) delete observer;
  register_created(command, message.id(), {Kind::context, context, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreateQueue& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  const auto device = objects_.handle<cl_device_id>(message.device());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  if (device == nullptr) return reply(command, message.id(), CL_INVALID_DEVICE);
  if (queues_ >= limits_.queues) return reply(command, message.id(), CL_OUT_OF_RESOURCES);
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = nullptr;
  if (message.plain()) {
    const cl_command_queue_properties bits =
        is_empty(message.properties()) ? 0 : numbers(message.properties()).front();
    queue = cl_.clCreateCommandQueue(context, device, bits, &error);
  } else {
    const auto properties = zero_terminated<cl_queue_properties>(message.properties());
    queue = cl_.clCreateCommandQueueWithProperties(context, device, properties.data(), &error);
  }
  Object object{Kind::queue, queue, CL_SUCCESS, 0, {}, {}};
  if (error == CL_SUCCESS) {
    cl_command_queue_properties bits = 0;
    cl_.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, nullptr);
    const Queue::QueueInfo info{message.id(), queue, (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0,
                                (bits & CL_QUEUE_PROFILING_ENABLE) != 0};
    object.queue = std::make_shared<Queue>(
        cl_, outbox_, reads_, info,
        Queue::ReportThresholds{limits_.window_commands / 8, limits_.window_bytes / 8});
    ++queues_;
  }
  register_created(command, message.id(), std::move(object), error);
}

void ClientSession::handle(const wire::Command& command, const wire::SetQueueProperty& message) {
  const auto object = objects_.find(message.queue());
  if (!object || object->kind != Kind::queue)
    return reply(command, message.queue(), CL_INVALID_COMMAND_QUEUE);
  // The order cannot change under those who wait for it.
  if ((message.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    return reply(command, message.queue(), CL_INVALID_QUEUE_PROPERTIES);
  }
  cl_command_queue_properties before = 0;
  const cl_int error = cl_.clSetCommandQueueProperty(object->queue->handle(), message.properties(),
                                                     message.enable() ? CL_TRUE : CL_FALSE, &before);
  if (error == CL_SUCCESS && (message.properties() & CL_QUEUE_PROFILING_ENABLE) != 0) {
    object->queue->set_profiling(message.enable());
  }
  if (command.request() == 0) return reply(command, message.queue(), error);
  answers_.add(wire::CreateAnswer(answers_.builder(), command.request(), error, before));
}

cl_int ClientSession::reserve_memory(std::uint64_t size) {
  if (size <= limits_.memory && memory_->fetch_add(size) <= limits_.memory - size) return CL_SUCCESS;
  if (size <= limits_.memory) memory_->fetch_sub(size);
  return CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

void ClientSession::handle(const wire::Command& command, const wire::CreateSampler& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  cl_sampler sampler = nullptr;
  if (message.plain()) {
    if (message.properties() == nullptr || message.properties()->size() != 3) {
      return reply(command, message.id(), CL_INVALID_VALUE);
    }
    const auto three = numbers(message.properties());
    sampler = cl_.clCreateSampler(context, static_cast<cl_bool>(three[0]),
                                  static_cast<cl_addressing_mode>(three[1]),
                                  static_cast<cl_filter_mode>(three[2]), &error);
  } else {
    const auto properties = zero_terminated<cl_sampler_properties>(message.properties());
    sampler = cl_.clCreateSamplerWithProperties(context, properties.data(), &error);
  }
  register_created(command, message.id(), {Kind::sampler, sampler, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreateUserEvent& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  const cl_event event = cl_.clCreateUserEvent(context, &error);
  register_created(command, message.id(), {Kind::event, event, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::SetUserEventStatus& message) {
  const auto event = objects_.handle<cl_event>(message.event());
  reply(command, message.event(),
        event != nullptr ? cl_.clSetUserEventStatus(event, message.status()) : CL_INVALID_EVENT);
  if (message.status() >= CL_COMPLETE) return;
  for (const auto& queue : objects_.queues()) queue->poll_for_failures();
}

void ClientSession::handle(const wire::Command& command, const wire::WatchDestruction& message) {
  struct Observer {
    Outbox& outbox;
    std::uint64_t id;
    static void CL_CALLBACK gone(cl_mem, void* data) {
      const std::unique_ptr<Observer> observer(static_cast<Observer*>(data));
      EventsFrame frame;
      frame.add(wire::CreateMemoryGone(frame.builder(), observer->id));
      observer->outbox.send(frame);
    }
  };
  if (const auto program = objects_.handle<cl_program>(message.object())) {
    const auto nothing = [](cl_program, void*) {};
    return reply(command, message.object(), cl_.clSetProgramReleaseCallback(program, nothing, nullptr));
  }
  const auto memory = objects_.handle<cl_mem>(message.object());
  if (memory == nullptr) return reply(command, message.object(), CL_INVALID_MEM_OBJECT);
  auto observer = std::make_unique<Observer>(Observer{outbox_, message.object()});
  const cl_int error = cl_.clSetMemObjectDestructorCallback(memory, &Observer::gone, observer.get());
  if (error == CL_SUCCESS) static_cast<void>(observer.release());
  reply(command, message.object(), error);
}

void ClientSession::release(const Object& object) {
  if (object.handle == nullptr) return;
  switch (object.kind) {
    case Kind::platform:
      return;
    case Kind::device:
      cl_.clReleaseDevice(static_cast<cl_device_id>(object.handle));
      return;
    case Kind::context:
      cl_.clReleaseContext(static_cast<cl_context>(object.handle));
      return;
    case Kind::queue:
      --queues_;
      std::erase(unflushed_, object.queue);
      cl_.clFlush(object.queue->handle());
      std::erase_if(released_, [](const auto& queue) { return queue.expired(); });
      released_.push_back(object.queue);
      object.queue->release_when_idle();
      return;
    case Kind::memory:
      cl_.clReleaseMemObject(static_cast<cl_mem>(object.handle));
      return;
    case Kind::sampler:
      cl_.clReleaseSampler(static_cast<cl_sampler>(object.handle));
      return;
    case Kind::program:
      cl_.clReleaseProgram(static_cast<cl_program>(object.handle));
      return;
    case Kind::kernel:
      cl_.clReleaseKernel(static_cast<cl_kernel>(object.handle));
      return;
    case Kind::event:
      cl_.clReleaseEvent(static_cast<cl_event>(object.handle));
      return;
  }
}

void ClientSession::handle(const wire::Command& command, const wire::Release& message) {
  cl_int error = CL_SUCCESS;
  if (message.ids() != nullptr) {
    for (const std::uint64_t id : numbers(message.ids())) {
      const auto object = objects_.remove(id);
      if (object) {
        release(*object);
      } else {
        error = CL_INVALID_VALUE;
      }
    }
  }
  reply(command, 0, error);
}

}  // namespace cleave::remote::server
