// Commands that move no data between client and server.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {
namespace {

using Triple = std::array<std::size_t, 3>;

// Data that is copied while one looks.
constexpr std::uint64_t kSmallTransfer = std::uint64_t{64} << 10U;

Triple triple(const wire::Size3* size) {
  return size != nullptr ? Triple{size->x(), size->y(), size->z()} : Triple{};
}

}  // namespace

std::optional<ClientSession::Enqueue> ClientSession::begin_enqueue(const wire::Command& command) {
  const auto object = objects_.find(command.queue());
  if (!object || object->kind != Kind::queue) {
    fail_command(command, CL_INVALID_COMMAND_QUEUE);
    return std::nullopt;
  }
  if (command.event() != 0 && !check_new_id(command.event())) return std::nullopt;
  Enqueue enqueue{object->queue, {}, command.empty_list()};
  if (command.waits() == nullptr) return enqueue;
  bool failed = false;
  for (const std::uint64_t id : numbers(command.waits())) {
    const auto event = objects_.find(id);
    if (!event || event->kind != Kind::event) {
      fail_command(command, CL_INVALID_EVENT_WAIT_LIST);
      return std::nullopt;
    }
    failed = failed || event->handle == nullptr;
    enqueue.waits.push_back(static_cast<cl_event>(event->handle));
  }
  if (!failed) return enqueue;
  fail_with_wait_list(command);
  return std::nullopt;
}

void ClientSession::fail_command(const wire::Command& command, cl_int error, std::uint64_t bytes) {
  if (command.queue() != 0) outbox_.count_ended(1, command.payload() - bytes);
  reply(command, 0, error);
  if (command.request() != 0 || command.event() == 0) return;
  if (!check_new_id(command.event())) return;
  objects_.add(command.event(), {Kind::event, nullptr, error, 0, {}, {}});
  answers_.completion(command.event(), error);
}

// What it waits for has failed, so it does, but not at once: a driver would have taken it.
void ClientSession::fail_with_wait_list(const wire::Command& command) {
  constexpr cl_int kError = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  const wire::Body body = command.body_type();
  const bool at_end = command.at_end() || body == wire::Body::ReadBuffer ||
                      body == wire::Body::ReadBufferRect || body == wire::Body::ReadImage ||
                      body == wire::Body::SvmRead;
  outbox_.count_ended(1, command.payload());
  if (command.request() != 0) {
    answers_.answer(command.request(), at_end ? kError : CL_SUCCESS);
  } else if (command.event() == 0) {
    answers_.failure(0, command.queue(), kError);
  }
  if (command.event() == 0) return;
  if (!objects_.add(command.event(), {Kind::event, nullptr, kError, 0, {}, {}})) {
    return report_violation("an id that it may not choose");
  }
  answers_.completion(command.event(), kError);
}

void ClientSession::finish_enqueue(const wire::Command& command, const Enqueue& enqueue, cl_event event,
                                   Pending pending) {
  pending.event = EventReference(cl_, event);
  pending.event_id = command.event();
  if (pending.is_read || command.at_end()) {
    pending.request = command.request();
  } else if (command.request() != 0) {
    answers_.answer(command.request(), CL_SUCCESS);
  }
  if (command.event() != 0) {
    cl_.clRetainEvent(event);
    if (!objects_.add(command.event(), {Kind::event, event, CL_SUCCESS, 0, {}, {}})) {
      return report_violation("an id that it may not choose");
    }
    // The client hears that it was enqueued before it hears that it has ended.
    if (!answers_.empty()) outbox_.send(answers_);
  }
  if (unflushed_.empty() || unflushed_.back() != enqueue.queue) unflushed_.push_back(enqueue.queue);
  const bool is_small = pending.bytes + pending.data.bytes().size() <= kSmallTransfer;
  if (!is_small || !pending.is_awaited()) return enqueue.queue->add(std::move(pending));
  poll_after_frame(enqueue.queue);
  enqueue.queue->add(std::move(pending), Queue::WaitedBy::by_caller);
}

void ClientSession::handle(const wire::Command& command, const wire::NDRange& message) {
  const auto kernel = objects_.handle<cl_kernel>(message.kernel());
  if (kernel == nullptr) return fail_command(command, CL_INVALID_KERNEL);
  if (message.dims() < 1 || message.dims() > 3) return fail_command(command, CL_INVALID_WORK_DIMENSION);
  const Triple offset = triple(message.offset());
  const Triple global = triple(message.global());
  const Triple local = triple(message.local());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueNDRangeKernel(
        queue, kernel, message.dims(), message.offset() != nullptr ? offset.data() : nullptr,
        message.global() != nullptr ? global.data() : nullptr,
        message.local() != nullptr ? local.data() : nullptr, count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::CopyBuffer& message) {
  const auto source = objects_.handle<cl_mem>(message.source());
  const auto target = objects_.handle<cl_mem>(message.target());
  if (source == nullptr || target == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueCopyBuffer(queue, source, target, message.source_offset(), message.target_offset(),
                                   message.size(), count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::CopyBufferRect& message) {
  const auto source = objects_.handle<cl_mem>(message.source());
  const auto target = objects_.handle<cl_mem>(message.target());
  if (source == nullptr || target == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple from = triple(message.source_origin());
  const Triple to = triple(message.target_origin());
  const Triple region = triple(message.region());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueCopyBufferRect(queue, source, target, from.data(), to.data(), region.data(),
                                       message.source_row_pitch(), message.source_slice_pitch(),
                                       message.target_row_pitch(), message.target_slice_pitch(), count, waits,
                                       event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::FillBuffer& message) {
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const auto* const pattern = message.pattern();
  if (pattern == nullptr || pattern->size() > kMaxPattern) return fail_command(command, CL_INVALID_VALUE);
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueFillBuffer(queue, buffer, pattern->data(), pattern->size(), message.offset(),
                                   message.size(), count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::CopyImage& message) {
  const auto source = objects_.handle<cl_mem>(message.source());
  const auto target = objects_.handle<cl_mem>(message.target());
  if (source == nullptr || target == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple from = triple(message.source_origin());
  const Triple to = triple(message.target_origin());
  const Triple region = triple(message.region());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueCopyImage(queue, source, target, from.data(), to.data(), region.data(), count, waits,
                                  event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::CopyImageToBuffer& message) {
  const auto image = objects_.handle<cl_mem>(message.image());
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (image == nullptr || buffer == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueCopyImageToBuffer(queue, image, buffer, origin.data(), region.data(),
                                          message.offset(), count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::CopyBufferToImage& message) {
  const auto image = objects_.handle<cl_mem>(message.image());
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (image == nullptr || buffer == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueCopyBufferToImage(queue, buffer, image, message.offset(), origin.data(),
                                          region.data(), count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::FillImage& message) {
  constexpr std::size_t kColor = 16;
  const auto image = objects_.handle<cl_mem>(message.image());
  if (image == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  if (message.color() == nullptr || message.color()->size() != kColor)
    return fail_command(command, CL_INVALID_VALUE);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueFillImage(queue, image, message.color()->data(), origin.data(), region.data(), count,
                                  waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::Migrate& message) {
  const auto kept = std::make_shared<std::vector<cl_mem>>();
  std::vector<cl_mem>& objects = *kept;
  if (message.objects() != nullptr) {
    for (const std::uint64_t id : numbers(message.objects())) {
      objects.push_back(objects_.handle<cl_mem>(id));
      if (objects.back() == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
    }
  }
  const auto call = [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueMigrateMemObjects(queue, static_cast<cl_uint>(objects.size()),
                                          objects.empty() ? nullptr : objects.data(), message.flags(), count,
                                          waits, event);
  };
  Pending pending;
  pending.arrays = kept;
  enqueue(command, call, std::move(pending));
}

void ClientSession::handle(const wire::Command& command, const wire::Marker& message) {
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    if (message.plain() && count == 0) return cl_.clEnqueueMarker(queue, event);
    return cl_.clEnqueueMarkerWithWaitList(queue, count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::Barrier& message) {
  (void)message;  // one with a wait list and an event does what the plain one does
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueBarrierWithWaitList(queue, count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::FlushQueue& message) {
  (void)message;
  const auto to = begin_enqueue(command);
  if (!to) return;
  reply(command, 0, cl_.clFlush(to->queue->handle()));
  outbox_.count_ended(1, 0);
}

void ClientSession::handle(const wire::Command& command, const wire::FinishQueue& message) {
  (void)message;
  if (command.request() == 0) return report_violation("a finish that nobody waits for");
  const auto to = begin_enqueue(command);
  if (!to) return;
  cl_.clFlush(to->queue->handle());
  std::erase(unflushed_, to->queue);
  if (!answers_.empty()) outbox_.send(answers_);
  poll_after_frame(to->queue);
  const cl_int error = to->queue->finish(command.request(), Queue::WaitedBy::by_caller);
  if (error != CL_SUCCESS) fail_command(command, error);
}

void ClientSession::handle(const wire::Command& command, const wire::WatchEvent& message) {
  const auto event = objects_.handle<cl_event>(message.event());
  if (event == nullptr) return reply(command, message.event(), CL_INVALID_EVENT);
  struct Observer {
    Outbox& outbox;
    std::uint64_t id;
    static void CL_CALLBACK reached(cl_event, cl_int status, void* data) {
      const std::unique_ptr<Observer> observer(static_cast<Observer*>(data));
      if (status < CL_COMPLETE) return;
      EventsFrame frame;
      frame.add(wire::CreateEventStatus(frame.builder(), observer->id, status));
      observer->outbox.send(frame);
    }
  };
  cl_int error = CL_SUCCESS;
  for (const cl_int status : {CL_SUBMITTED, CL_RUNNING}) {
    auto observer = std::make_unique<Observer>(Observer{outbox_, message.event()});
    error = cl_.clSetEventCallback(event, status, &Observer::reached, observer.get());
    if (error != CL_SUCCESS) break;
    static_cast<void>(observer.release());
  }
  reply(command, message.event(), error);
}

}  // namespace cleave::remote::server
