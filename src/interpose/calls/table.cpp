#include "interpose/calls/table.h"

#include <memory>
#include <pthread.h>

#include "base/threads/scoped_thread_state.h"
#include "interpose/calls/blocking_calls.h"
#include "interpose/calls/next_function.h"
#include "interpose/calls/overrides.h"
#include "interpose/calls/reference_counts.h"
#include "interpose/interposer.h"
#include "opencl/extension_functions.h"
#include "opencl/missing_functions.h"

namespace cleave::interpose {
namespace {

// An override as the program calls it: a pending thread cancellation takes effect after our frames have returned.
template <auto Override, typename Function = decltype(Override)>
struct CancelSafe;

template <auto Override, typename Result, typename... Parameters>
struct CancelSafe<Override, Result(CL_API_CALL*)(Parameters...) noexcept> {
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    const base::ScopedCancelDisable uncancelled;
    return Override(parameters...);
  }

  // For calls that may block: the driver's own call contains cancellation points, and a program may have no
  // others. So this is a cancellation point, too: not noexcept, with no destructors pending.
  static Result CL_API_CALL call_then_test_cancel(Parameters... parameters) {
    const Result result = stay(parameters...);
    pthread_testcancel();
    return result;
  }

 private:
  [[gnu::noinline]] static Result stay(Parameters... parameters) noexcept { return call(parameters...); }
};

using opencl::ExtensionFunctions;

// Whether a function enqueues a command that calls the program.
template <auto Entry>
constexpr bool kCallsBack = false;
template <>
constexpr bool kCallsBack<&Table::clEnqueueNativeKernel> = true;

// A function that enqueues a command, called within the gate of its queue.
template <auto Entry, typename Function = FunctionAt<Entry>>
struct Gated;

template <auto Entry, typename Result, typename... Parameters>
struct Gated<Entry, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) noexcept {
    Interposer& p = interposer();
    p.note_command(queue);
    if constexpr (kCallsBack<Entry>) p.feeder.stop();
    if (const cl_int error = p.feeder.settle(queue); error != CL_SUCCESS) [[unlikely]]
      return opencl::failed<Result>(error, parameters...);
    const GateGuard guard(p.gates.of(queue));
    return next_function<Entry>(p, queue)(queue, parameters...);
  }
};

// A function that removes or changes what a launch uses: arguments of the kernel that is its first parameter, or
// memory.
template <auto Entry, typename Function = FunctionAt<Entry>>
struct Withdrawing;

template <auto Entry, typename Result, typename Object, typename... Parameters>
struct Withdrawing<Entry, Result(CL_API_CALL*)(Object, Parameters...)> {
  // Without cleanup around the driver's call, where the thread may be cancelled.
  static Result CL_API_CALL call(Object object, Parameters... parameters) {
    Interposer& p = interposer();
    if (p.feeder.feeds() && is_used(p, object)) [[unlikely]]
      p.feeder.wait();
    note(p, object, parameters...);
    return next_function<Entry>(p, object)(object, parameters...);
  }

 private:
  // For the memory limit.
  static void note(Interposer& p, cl_mem memory) { p.memory.releasing(memory); }
  static void note(Interposer& p, cl_context, void* allocation) { p.memory.freeing(allocation); }
  template <typename... Others>
  static void note(Interposer&, const Others&...) {}
  static bool is_used(const Interposer& p, cl_kernel kernel) { return p.feeder.feeds(kernel); }
  // Also with other references left: two threads may release the last two at the same time.
  static bool is_used(const Interposer&, const void*) { return true; }
};

// A function after which the driver may call the program back, perhaps on a thread of ours.
template <auto Entry, typename Function = FunctionAt<Entry>>
struct CallingBack;

template <auto Entry, typename Result, typename Object, typename... Parameters>
struct CallingBack<Entry, Result(CL_API_CALL*)(Object, Parameters...)> {
  static Result CL_API_CALL call(Object object, Parameters... parameters) {
    Interposer& p = interposer();
    p.feeder.stop();
    return next_function<Entry>(p, object)(object, parameters...);
  }
};

// A function that may wait for its command. It is a cancellation point only if it waits.
template <auto Entry, Name name, typename Function = FunctionAt<Entry>>
struct MayWait;

template <auto Entry, Name name, typename Result, typename... Parameters>
struct MayWait<Entry, name, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  using Own = Blocking<Entry, name>;
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) {
    using Inside = CancelSafe<&Own::call>;
    return Own::waits(parameters...) ? Inside::call_then_test_cancel(queue, parameters...)
                                     : Inside::call(queue, parameters...);
  }
};

// The override of `Entry`, by its role; null if there is none. `kByHand` is interpose::<name>, which is
// defined for some roles.
template <auto Entry, auto kByHand, Name name>
constexpr FunctionAt<Entry> override_of() {
  constexpr Role kIs = kRole<Entry>;
  if constexpr (kIs == Role::gated) {
    return CancelSafe<&Gated<Entry>::call>::call;
  } else if constexpr (kIs == Role::blocking) {
    return MayWait<Entry, name>::call;
  } else if constexpr (kIs == Role::retains) {
    return CancelSafe<&Retain<Entry>::call>::call;
  } else if constexpr (kIs == Role::releases) {
    return CancelSafe<&Release<Entry>::call>::call;
  } else if constexpr (kIs == Role::calls_back) {
    return CallingBack<Entry>::call;
  } else if constexpr (kIs == Role::withdraws) {
    return Withdrawing<Entry>::call;
  } else if constexpr (kIs == Role::overridden) {
    return CancelSafe<kByHand>::call;
  } else if constexpr (kIs == Role::cancellable) {
    return CancelSafe<kByHand>::call_then_test_cancel;
  } else if constexpr (kIs == Role::waits || kIs == Role::launches) {
    return kByHand;  // handles cancellation itself
  } else {
    static_assert(kIs == Role::forwarded);
    return nullptr;
  }
}

// Of a function that may be forwarded: it enqueues nothing that could get between the slices of a launch.
constexpr bool may_be_forwarded(std::string_view name) { return !name.starts_with("clEnqueue"); }

// Calls visit(name, entry of the table, override) for every overridden function of the dispatch table.
template <typename Visit>
void for_each_override(Visit visit) {
#define CL_FUNCTION(version, name, ...)                                                                \
  static_assert(kRole<&Table::name> != Role::forwarded || may_be_forwarded(#name), #name " enqueues"); \
  if constexpr (kRole<&Table::name> != Role::forwarded)                                                \
    visit(#name, &Table::name, override_of<&Table::name, &interpose::name, #name>());
#include "opencl/functions.def"
#undef CL_FUNCTION
}

void fill(Table& table, const Table& next, bool disabled) {
  table = next;
  for_each_override([&](std::string_view name, auto entry, auto override) {
    if (disabled && !name.starts_with("clGetExtensionFunctionAddress")) return;
    if (next.*entry != nullptr) table.*entry = override;
  });
}

}  // namespace

const Table* install(const Table& next, const Face& face, base::Configuration configuration,
                     base::Clock& clock) noexcept try {
  auto made = std::make_unique<Interposer>(next, face, std::move(configuration), clock);
  fill(made->table, next, made->settings().disable);
  const Table* const table = &made->table;
  replace_interposer(made.release());  // never freed: calls that use it may outlive main()
  return table;
} catch (...) {
  return nullptr;
}

void report_mistakes() noexcept {
  if (Interposer* const made = current_interposer()) made->owner.report_mistakes();
}

void uninstall() { delete replace_interposer(nullptr); }

void* find_override(std::string_view wanted) {
  void* found = nullptr;
  for_each_override([&](std::string_view known, auto, auto override) {
    if (known == wanted) found = reinterpret_cast<void*>(override);
  });
#define CL_EXTENSION(extension, name, ...)                                                             \
  static_assert(kRole<&ExtensionFunctions::name> != Role::forwarded || may_be_forwarded(#name),        \
                #name " enqueues");                                                                    \
  if (wanted == #name) {                                                                               \
    return reinterpret_cast<void*>(override_of<&ExtensionFunctions::name, &interpose::name, #name>()); \
  }
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  return found;
}

observe::TraceWriter* trace_file() noexcept {
  Interposer* const made = current_interposer();
  return made != nullptr && made->trace ? &made->trace->file() : nullptr;
}

void set_traced_command(std::uint64_t number) noexcept { Tracer::set_command(number); }

void stand_aside() noexcept {
  if (Interposer* const made = current_interposer()) made->owner.stand_aside();
}

void at_load() noexcept { register_fork_handlers(); }

void at_exit() noexcept {
  if (Interposer* const made = current_interposer()) made->end();
}

}  // namespace cleave::interpose
