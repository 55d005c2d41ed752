#include <iterator>
#include <string>

#include "callbacks.h"
#include "cases.h"
#include "kernel_arguments.h"

namespace fuzz {

namespace {

enum class InvalidArgument {
  none,
  no_dims,
  many_dims,
  no_global,
  zero_global,
  zero_local,
  odd_local,
  large_local,
  missing_argument,
  empty_list,
  null_event,
  wide_offset,
  other_context
};

constexpr const char* kInvalidArgumentNames[] = {
    "none",        "no-dims",          "many-dims",  "no-global",  "zero-global", "zero-local",   "odd-local",
    "large-local", "missing-argument", "empty-list", "null-event", "wide-offset", "other-context"};

struct Call {
  cl_uint dims;
  const std::size_t* offset;
  const std::size_t* global;
  const std::size_t* local;
  Waits waits;
  cl_uint wait_count;
};

class LaunchCase {
 public:
  LaunchCase(const Setting& setting, Random random, Observations& observations)
      : setting_(setting), random_(random), observations_(observations) {}

  void run() {
    cl_program program = setting_.built.program(0, observations_);
    if (program == nullptr) return observations_.add("program", "none");
    head_ = &random_.one_of(setting_.built.text().kernels);
    shape_ = setting_.shapes.one(random_, *head_);
    invalid_argument_ =
        static_cast<InvalidArgument>(random_.chance(8) ? random_.below(std::size(kInvalidArgumentNames)) : 0);
    if (setting_.options.without.count(name()) != 0) invalid_argument_ = InvalidArgument::none;
    const Buffers buffers(context(), Random::stream(random_.next(), "buffers", 0), shape_.items(),
                          observations_);
    make_queue();
    make_kernel(program);
    if (!kernel_) return;
    const unsigned left_out =
        invalid_argument_ == InvalidArgument::missing_argument ? 1U << random_.below(kArguments) : 0;
    set_arguments(kernel_, setting_.platform, buffers, shape_, random_.word(), observations_, left_out);
    enqueue();
    afterwards(buffers);
    end();
    buffers.add_to(observations_, queue_);
    if (event_) observations_.event("event", event_, queue_);
    callbacks_.add_to(observations_);
  }

 private:
  cl_context context() const { return setting_.platform.contexts[0]; }

  std::string name() const { return kInvalidArgumentNames[static_cast<int>(invalid_argument_)]; }

  void make_queue() {
    cl_command_queue_properties properties = random_.chance(40) ? CL_QUEUE_PROFILING_ENABLE : 0;
    if (random_.chance(25)) properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    cl_int status = CL_SUCCESS;
    queue_ = cl.own(clCreateCommandQueue(context(), setting_.platform.device, properties, &status));
    observations_.add("queue", status);
    observations_.note("queue with properties " + std::to_string(properties));
  }

  void make_kernel(cl_program program) {
    cl_int status = CL_SUCCESS;
    kernel_ = cl.own(clCreateKernel(program, head_->name.c_str(), &status));
    observations_.add("kernel", status);
    if (!setting_.platform.capabilities.clones || !random_.chance(10) || !kernel_) return;
    kernel_ = cl.own(clCloneKernel(kernel_, &status));
    observations_.add("clone", status);
  }

  void enqueue() {
    static constexpr Sizes kZero = {0, 0, 0};
    static constexpr Sizes kLarge = {1U << 20U, 1, 1};
    static constexpr Sizes kWide = {~std::size_t{0} - 2, ~std::size_t{0} - 2, ~std::size_t{0} - 2};
    Call call = {
        shape_.dims, shape_.offset_or_null(), shape_.global.data(), shape_.local_or_null(), waits(), 0};
    call.wait_count = static_cast<cl_uint>(call.waits.size());
    Sizes odd = shape_.local;
    odd[0] = shape_.global[0] / 2 + 1;
    switch (invalid_argument_) {
      case InvalidArgument::no_dims:
        call.dims = 0;
        break;
      case InvalidArgument::many_dims:
        call.dims = 4;
        break;
      case InvalidArgument::no_global:
        call.global = nullptr;
        break;
      case InvalidArgument::zero_global:
        call.global = kZero.data();
        break;
      case InvalidArgument::zero_local:
        call.local = kZero.data();
        break;
      case InvalidArgument::odd_local:
        call.local = odd.data();
        break;
      case InvalidArgument::large_local:
        call.local = kLarge.data();
        break;
      case InvalidArgument::empty_list:
        call.waits.assign(1, nullptr), call.wait_count = 0;
        break;
      case InvalidArgument::null_event:
        call.waits.assign(1, nullptr), call.wait_count = 1;
        break;
      case InvalidArgument::wide_offset:
        call.offset = kWide.data();
        break;
      default:
        break;
    }
    const bool wanted = random_.chance(70);
    observations_.note("clEnqueueNDRangeKernel(queue, " + head_->name + ", " + shape_.text() +
                       "), mistake: " + name() + (wanted ? ", with an event" : ""));
    observations_.add("enqueue", clEnqueueNDRangeKernel(queue_, kernel_, call.dims, call.offset, call.global,
                                                        call.local, call.wait_count, cl.list(call.waits),
                                                        wanted ? event_.out() : nullptr));
  }

  // Sometimes another command's event, or one that is set later.
  Waits waits() {
    Waits list;
    cl_int status = CL_SUCCESS;
    if (random_.chance(20)) {
      status = cl.marker(queue_, {}, before_.out());
      list.push_back(before_);
    }
    if (setting_.platform.capabilities.user_events &&
        (random_.chance(8) || invalid_argument_ == InvalidArgument::other_context)) {
      const unsigned context = invalid_argument_ == InvalidArgument::other_context ? 1 : 0;
      user_ = cl.own(clCreateUserEvent(setting_.platform.contexts[context], &status));
      list.push_back(user_);
    }
    if (!list.empty()) observations_.add("wait", status);
    return list;
  }

  // What a program may do as soon as the launch is enqueued.
  void afterwards(const Buffers& buffers) {
    if (random_.chance(30)) {
      Shape other = shape_;
      other.global = other.offset = {7, 7, 7};
      Observations unseen(false);
      set_arguments(kernel_, setting_.platform, buffers, other, 12345, unseen);
      observations_.note("new arguments");
    }
    if (random_.chance(40)) observations_.add("release", kernel_.reset());
    for (const cl_int state : {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED})
      if (event_ && setting_.platform.capabilities.callbacks && random_.chance(15))
        callbacks_.ask(event_, state, observations_);
    if (user_) observations_.add("user", clSetUserEventStatus(user_, CL_COMPLETE));
    if (random_.chance(40)) observations_.add("flush", clFlush(queue_));
  }

  void end() {
    if (event_ && random_.chance(50))
      observations_.add("waited", cl.wait({event_}));
    else
      observations_.add("finish", clFinish(queue_));
  }

  const Setting& setting_;
  Random random_;
  Observations& observations_;
  const KernelSpec* head_ = nullptr;
  Shape shape_;
  InvalidArgument invalid_argument_ = InvalidArgument::none;
  Queue queue_;
  Kernel kernel_;
  Event before_ = cl.event();
  Event user_;
  Event event_ = cl.event();
  Callbacks callbacks_;
};

}  // namespace

void launch_case(const Setting& setting, Random random, Observations& observations) {
  LaunchCase(setting, random, observations).run();
}

}  // namespace fuzz
