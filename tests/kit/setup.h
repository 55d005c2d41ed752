// What most tests begin with: a context and a queue on one device. Everything that is made through a Setup lives as
// long as the Setup does, and is released newest first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/kit/opencl.h"

namespace kit {

class Setup {
 public:
  Setup(const Api& api, cl_device_id the_device, cl_command_queue_properties properties = 0)
      : cl(api), device(the_device), context(keep(cl.context(device))), queue(make_queue(properties)) {}
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() { release_all(); }

  template <class H>
  H keep(Handle<H> object) {
    const H handle = object.get();
    kept_.push_back(std::make_shared<Handle<H>>(std::move(object)));
    return handle;
  }
  // Takes one reference over.
  template <class H>
  H keep(H object) {
    return keep(cl.own(object));
  }

  cl_command_queue make_queue(cl_command_queue_properties properties = 0) {
    return keep(cl.queue(context, device, properties));
  }
  template <class T>
  cl_mem make_buffer(const std::vector<T>& contents) {
    return keep(cl.buffer(context, contents));
  }
  cl_program make_program(const std::string& source, const char* options = "",
                          const Where& where = Where::current()) {
    return keep(cl.build(context, source, options, where));
  }
  // Not built yet.
  cl_program unbuilt_program(const std::string& source, const Where& where = Where::current()) {
    return keep(cl.program(context, source, where));
  }
  template <class... A>
  cl_kernel make_kernel(cl_program program, const Name& name, const A&... arguments) {
    return keep(cl.kernel(program, name, arguments...));
  }
  cl_event user_event() { return keep(cl.user_event(context)); }

  // Calls `action` when the event's command reaches `status`; it must live until then.
  using EventAction = std::function<void(cl_event, cl_int)>;
  void at_status(cl_event event, cl_int status, const EventAction& action,
                 const Where& where = Where::current()) const {
    const auto call = [](cl_event reached, cl_int with, void* data) {
      (*static_cast<const EventAction*>(data))(reached, with);
    };
    cl.check("clSetEventCallback",
             cl.clSetEventCallback(event, status, call, const_cast<EventAction*>(&action)), where);
  }

  [[nodiscard]] cl_int status(cl_event event, const Where& where = Where::current()) const {
    return cl.status(event, where);
  }

  const Api cl;
  const cl_device_id device;

 protected:
  void release_all() {
    while (!kept_.empty()) kept_.pop_back();
  }

 private:
  std::vector<std::shared_ptr<void>> kept_;

 public:
  cl_context context;
  cl_command_queue queue;
};

}  // namespace kit
