#include <deque>
#include <list>
#include <map>

#include "callbacks.h"
#include "cases.h"
#include "command_chain.h"
#include "kernel_arguments.h"

namespace fuzz {

namespace {

enum class Do {
  launch,
  task,
  fill,
  copy,
  write,
  read,
  map,
  marker,
  barrier,
  flush,
  finish,
  wait,
  user,
  set,
  renew
};

// All steps are generated before the first one is executed, so that steps can be dropped.
struct Step {
  Do what;
  unsigned chain;
  unsigned queue;
  std::uint64_t seed;
};

Do choose_step(Random& random) {
  static const std::vector<Do> rare = {Do::task,   Do::fill, Do::copy,   Do::copy,    Do::write,
                                       Do::read,   Do::map,  Do::marker, Do::barrier, Do::flush,
                                       Do::finish, Do::wait, Do::user,   Do::set,     Do::renew};
  return random.chance(50) ? Do::launch : random.one_of(rare);
}

class Sequence {
 public:
  Sequence(const Setting& setting, Random& random, Observations& observations)
      : setting_(setting),
        observations_(observations),
        user_events_(setting.platform.capabilities.user_events) {
    const unsigned contexts = random.chance(20) ? 2 : 1;
    for (unsigned context = 0; context < contexts; ++context) {
      programs_[context] = setting.built.program(context, unseen_);
      for (unsigned count = random.between(1, 2); count > 0; --count) add_queue(context, random);
      for (unsigned count = random.between(1, 2); count > 0; --count)
        chains_.emplace_back(setting.platform, context, Random(random.next()), setting.options.most_items,
                             observations);
    }
    for (unsigned count = random.between(4, 14); count > 0; --count)
      steps_.push_back({choose_step(random), random.below(8), random.below(8), random.next()});
  }

  void run() {
    if (programs_[0] == nullptr) return observations_.add("program", "none");
    for (std::size_t number = 0; number < steps_.size(); ++number)
      if (setting_.options.dropped_steps.count(static_cast<unsigned>(number)) == 0)
        take(steps_[number], number);
    end();
  }

 private:
  void add_queue(unsigned context, Random& random) {
    const bool out_of_order = random.chance(35);
    cl_command_queue_properties properties = out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
    if (random.chance(40)) properties |= CL_QUEUE_PROFILING_ENABLE;
    queues_.push_back({create_queue(context, properties), context, out_of_order});
    observations_.note("queue with properties " + std::to_string(properties));
  }

  Queue create_queue(unsigned context, cl_command_queue_properties properties) {
    cl_int status = CL_SUCCESS;
    Queue queue = cl.own(clCreateCommandQueue(setting_.platform.contexts[context], setting_.platform.device,
                                              properties, &status));
    if (status != CL_SUCCESS) observations_.add("queue", status);
    return queue;
  }

  // Replaces the queue while commands of the old one may still be running.
  void renew(QueueSlot& queue) {
    if (held() || setting_.options.without.count("renewed-queues") != 0) return;
    for (CommandChain& chain : chains_) chain.leave(queue, observations_);
    Queue fresh =
        create_queue(queue.context, queue.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    if (!fresh) return;
    observations_.add("release", queue.handle.reset());
    queue.handle = std::move(fresh);
  }

  QueueSlot& queue_of(const CommandChain& chain, unsigned number) {
    std::vector<QueueSlot*> able;
    for (QueueSlot& queue : queues_)
      if (queue.context == chain.context()) able.push_back(&queue);
    return *able[number % able.size()];
  }

  void take(const Step& step, std::size_t number) {
    auto chain = chains_.begin();
    std::advance(chain, step.chain % chains_.size());
    QueueSlot& queue = queue_of(*chain, step.queue);
    Random random(step.seed);
    observations_.note("step " + std::to_string(number) + ", chain " +
                       std::to_string(step.chain % chains_.size()) + ", queue " + std::to_string(step.queue));
    switch (step.what) {
      case Do::flush:
        return observations_.add("flush", clFlush(queue.handle));
      case Do::finish:
        return finish(queue);
      case Do::wait:
        return wait_for_last();
      case Do::user:
        return create_user_event(chain->context());
      case Do::set:
        return set_user_events();
      case Do::renew:
        return renew(queue);
      default:
        command(step.what, *chain, queue, random);
    }
  }

  // Nothing may block while a user event is not set.
  bool held() const { return pending_[0] != nullptr || pending_[1] != nullptr; }

  void finish(const QueueSlot& queue) {
    if (held()) return;
    for (const QueueSlot& other : queues_) clFlush(other.handle);
    observations_.add("finish", clFinish(queue.handle));
  }

  void wait_for_last() {
    if (held() || events_.empty()) return;
    for (const QueueSlot& other : queues_) clFlush(other.handle);
    observations_.add("waited", cl.wait({events_.back().event}));
  }

  void create_user_event(unsigned context) {
    if (!user_events_ || pending_[context] != nullptr) return;
    cl_int status = CL_SUCCESS;
    user_.push_back(cl.own(clCreateUserEvent(setting_.platform.contexts[context], &status)));
    observations_.add("user", status);
    pending_[context] = user_.back();
  }

  void set_user_events() {
    for (cl_event& event : pending_)
      if (event != nullptr)
        observations_.add("set", clSetUserEventStatus(std::exchange(event, nullptr), CL_COMPLETE));
  }

  void command(Do what, CommandChain& chain, QueueSlot& queue, Random& random) {
    Waits waits = chain.waits(queue, random.chance(25), observations_);
    if (pending_[chain.context()] != nullptr && random.chance(40)) waits.push_back(pending_[chain.context()]);
    Event event = cl.event();
    const bool wanted = queue.out_of_order || random.chance(60);
    cl_event* out = wanted ? event.out() : nullptr;
    const cl_int status = enqueue(what, chain, queue.handle, random, waits, out);
    observations_.add("s", status);
    if (status != CL_SUCCESS) return;
    chain.done(queue, event);
    if (!event) return;
    for (const cl_int state : {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED})
      if (setting_.platform.capabilities.callbacks && random.chance(8))
        callbacks_.ask(event, state, observations_);
    events_.push_back({std::move(event), queue.handle});
  }

  cl_int enqueue(Do what, const CommandChain& chain, cl_command_queue queue, Random& random,
                 const Waits& waits, cl_event* out) {
    const Buffers& own = chain.buffers();
    const std::size_t from = random.below(100) * sizeof(cl_uint);
    const cl_uint pattern = random.word();
    switch (what) {
      case Do::launch:
      case Do::task:
        return launch(what == Do::task, chain, queue, random, waits, out);
      case Do::fill:
        return cl.fill(queue, own.cells, pattern, 100, from, waits, out);
      case Do::copy:
        return cl.copy(queue, own.whole, own.in, 2000, from, from, waits, out);
      case Do::write:
        memory_.emplace_back(500, pattern);
        return cl.write<std::uint32_t>(queue, own.in, blocking(random), memory_.back(), from, waits, out);
      case Do::read:
        memory_.emplace_back(500, 0U);
        return cl.read<std::uint32_t>(queue, own.whole, blocking(random), memory_.back(), from, waits, out);
      case Do::map:
        return change_mapped(own, queue, pattern, waits, out);
      case Do::marker:
        return cl.marker(queue, waits, out);
      default:
        return cl.barrier(queue, waits, out);
    }
  }

  kit::Blocking blocking(Random& random) {
    if (held() || !random.chance(40)) return kit::Blocking::no;
    for (const QueueSlot& queue : queues_) clFlush(queue.handle);
    return kit::Blocking::yes;
  }

  // A map has to block before the program can write. Where blocking is not allowed, it becomes a marker.
  cl_int change_mapped(const Buffers& own, cl_command_queue queue, cl_uint pattern, const Waits& waits,
                       cl_event* out) {
    if (held() || setting_.options.without.count("maps") != 0) {
      return cl.marker(queue, waits, out);
    }
    for (const QueueSlot& other : queues_) clFlush(other.handle);
    cl_int status = CL_SUCCESS;
    void* mapped = clEnqueueMapBuffer(queue, own.cells, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096,
                                      kit::Api::count(waits), kit::Api::list(waits), nullptr, &status);
    if (status != CL_SUCCESS) return status;
    static_cast<cl_uint*>(mapped)[pattern % 1024] ^= pattern;
    return cl.unmap(queue, own.cells, mapped, {}, out);
  }

  cl_int launch(bool task, const CommandChain& chain, cl_command_queue queue, Random& random,
                const Waits& waits, cl_event* out) {
    const KernelSpec& head = random.one_of(setting_.built.text().kernels);
    Shape shape = task ? Shape{} : setting_.shapes.one(random, head);
    cl_int status = CL_SUCCESS;
    Kernel fresh;
    Kernel& kernel = random.chance(30) ? kept_[chain.context()][head.name] : fresh;
    if (!kernel) kernel = cl.own(clCreateKernel(programs_[chain.context()], head.name.c_str(), &status));
    if (status != CL_SUCCESS) return status;
    if (setting_.platform.capabilities.clones && random.chance(8))
      kernel = cl.own(clCloneKernel(kernel, &status));
    set_arguments(kernel, setting_.platform, chain.buffers(), shape, random.word(), observations_);
    const Buffer brief =
        random.chance(15) ? chain.buffers().temporary_cells(kernel, observations_) : Buffer();
    status =
        task ? clEnqueueTask(queue, kernel, cl.count(waits), cl.list(waits), out)
             : clEnqueueNDRangeKernel(queue, kernel, shape.dims, shape.offset_or_null(), shape.global.data(),
                                      shape.local_or_null(), cl.count(waits), cl.list(waits), out);
    observations_.note((task ? "clEnqueueTask(queue, " : "clEnqueueNDRangeKernel(queue, ") + head.name +
                       ", " + shape.text() + ")");
    if (random.chance(40)) cl.set_argument(kernel, 6, cl_uint{12345});
    return status;
  }

  void end() {
    set_user_events();
    for (const QueueSlot& queue : queues_) observations_.add("flush", clFlush(queue.handle));
    for (const QueueSlot& queue : queues_) observations_.add("finish", clFinish(queue.handle));
    for (const CommandChain& chain : chains_) chain.finish(observations_);
    for (const CommandChain& chain : chains_)
      chain.buffers().add_to(observations_, queue_of(chain, 0).handle);
    for (const Words& words : memory_)
      observations_.hash("memory", words.data(), words.size() * sizeof words[0]);
    for (const Ended& ended : events_) observations_.event("event", ended.event, ended.queue);
    callbacks_.add_to(observations_);
  }

  struct Ended {
    Event event;
    cl_command_queue queue;
  };

  const Setting& setting_;
  Observations& observations_;
  Observations unseen_{false};
  bool user_events_;
  cl_program programs_[2] = {};
  std::deque<QueueSlot> queues_;
  std::list<CommandChain> chains_;
  std::vector<Step> steps_;
  std::vector<Ended> events_;
  std::list<Event> user_;
  cl_event pending_[2] = {};  // for each context, a user event that is not set yet
  std::map<std::string, Kernel> kept_[2];
  std::list<Words> memory_;
  Callbacks callbacks_;
};

}  // namespace

void sequence_case(const Setting& setting, Random random, Observations& observations) {
  Sequence(setting, random, observations).run();
}

}  // namespace fuzz
