#include "icd/preload/first_call.h"

#include <atomic>
#include <utility>

#include "base/settings/configuration.h"
#include "base/threads/mutex.h"
#include "base/threads/scoped_thread_state.h"
#include "icd/preload/find_loader.h"
#include "icd/remote_platforms.h"
#include "interpose/calls/table.h"
#include "opencl/missing_functions.h"

namespace cleave::icd {
namespace {

// The function in the table entry `Entry` before the first call.
template <auto Entry, typename Function>
struct First;

template <auto Entry, typename Result, typename... Parameters>
struct First<Entry, Result(CL_API_CALL*)(Parameters...)> {
  // Not noexcept: the thread may be cancelled within the driver's function, which unwinds the stack.
  static Result CL_API_CALL call(Parameters... parameters) { return (first_call().*Entry)(parameters...); }
};

constexpr Table make_first_table() {
  Table table{};
#define CL_FUNCTION(version, name, ...) table.name = First<&Table::name, decltype(Table::name)>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

constexpr Table kFirstTable = make_first_table();

// The drop-in's part of the process-wide state.
struct DropIn {
  std::atomic<const Table*> active{&kFirstTable};
  base::RecursiveMutex mutex;
  Table next CLEAVE_GUARDED_BY(mutex){};  // the loader's; constant once `active` is set
  bool loading CLEAVE_GUARDED_BY(mutex) = false;
};
constinit DropIn drop_in;

// Null if there is no memory.
const Table* load_next() CLEAVE_REQUIRES(drop_in.mutex) {
  base::Configuration configuration = base::load(base::process_environment());
  const bool remote = wants_remote(configuration.settings);
  const Loader loader = load_real_loader(configuration.settings.next, remote);
  drop_in.next = loader.table;
  if (remote)
    add_remote_platforms(drop_in.next, configuration.settings, loader.table.clGetPlatformIDs != nullptr);
  opencl::fill_missing_functions(drop_in.next);
  const std::string below = loader.path.empty() && remote ? "the remote client" : loader.path;
  return interpose::install(drop_in.next, {"drop-in", below}, std::move(configuration));
}

}  // namespace

const Table& active_table() { return *drop_in.active.load(std::memory_order_acquire); }

const Table& first_call() noexcept {
  const base::ScopedCancelDisable cancel_disable;
  const base::RecursiveMutexLock lock(drop_in.mutex);
  if (drop_in.active.load(std::memory_order_relaxed) != &kFirstTable) return active_table();
  if (drop_in.loading) return drop_in.next;
  drop_in.loading = true;
  opencl::fill_missing_functions(drop_in.next);  // for recursive calls
  const Table* made = nullptr;
  try {
    made = load_next();
  } catch (...) {  // out of memory: use the loader's table without Cleave
  }
  drop_in.active.store(made != nullptr ? made : &drop_in.next, std::memory_order_release);
  if (made != nullptr) interpose::report_mistakes();
  return active_table();
}

}  // namespace cleave::icd
