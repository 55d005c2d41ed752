#include "remote/client/link/call_trace.h"

#include "base/text/json.h"
#include "base/threads/scoped_thread_state.h"
#include "observe/trace_origin.h"
#include "opencl/function_traits.h"

namespace cleave::remote::client {
namespace {

// A call that sends more than these is connected with the first of them.
constexpr std::size_t kMaxListed = 4096;

template <auto Entry>
struct Traced {
  static inline opencl::FunctionAt<Entry> function = nullptr;
  static inline const char* name = nullptr;

  template <typename Result, typename... Parameters>
  static auto wrapper(Result(CL_API_CALL*)(Parameters...)) {
    return static_cast<opencl::FunctionAt<Entry>>([](Parameters... parameters) -> Result {
      const CallTrace::Call call(name);
      return function(parameters...);
    });
  }
};

}  // namespace

constinit CallTrace* call_trace = nullptr;

CallTrace::CallTrace(const std::string& path, base::ForkLocks& forks)
    : file_(path + ".remote", "Cleave " CLEAVE_VERSION ", remote devices", forks, base::Clock::system(),
            observe::TraceWriter::kMaxBytes, base::ForkOrder::client_trace) {}

void CallTrace::add_session(const std::string& session) noexcept try {
  const base::ScopedCancelDisable uncancelled;
  observe::TraceEvents events;
  events.note(observe::kSessionNote, base::JsonObject().add("session", session).add("role", "client").text());
  file_.add(events, observe::thread_track());
} catch (...) {
}

void CallTrace::add_untraced(const std::string& server) noexcept try {
  const base::ScopedCancelDisable uncancelled;
  observe::TraceEvents events;
  events.note(observe::kUntracedNote, base::JsonObject().add("server", server).text());
  file_.add(events, observe::thread_track());
} catch (...) {
}

void CallTrace::add_exchange(const std::string& session, const observe::ClockExchange& exchange) noexcept
    try {
  const base::ScopedCancelDisable uncancelled;
  observe::TraceEvents events;
  events.note(observe::kExchangeNote, base::JsonObject()
                                          .add("session", session)
                                          .add("sent_ns", exchange.sent)
                                          .add("server_ns", exchange.server)
                                          .add("received_ns", exchange.received)
                                          .text());
  file_.add(events, observe::thread_track());
} catch (...) {
}

CallTrace::Call::Call(const char* function) noexcept
    : outer_(current_), function_(function), begin_(base::Clock::system().now()) {
  current_ = this;
}

// Calls that are answered from what is known here are left out.
CallTrace::Call::~Call() {
  current_ = outer_;
  if ((sent_.empty() && !waits_) || call_trace == nullptr) return;
  try {
    const base::ScopedCancelDisable uncancelled;  // it may write a file
    observe::TraceEvents events;
    const std::string arguments =
        sent_.empty() ? std::string() : base::JsonObject().add("sent", sent_).text();
    events.span(observe::thread_track(), begin_, base::Clock::system().now(), {function_, "call", arguments});
    call_trace->file_.add(events, observe::thread_track());
  } catch (...) {  // out of memory
  }
}

void CallTrace::Call::add_command(const std::string& session, std::uint64_t number) noexcept try {
  if (sent_.size() > kMaxListed) return;
  if (!sent_.empty()) sent_ += ' ';
  sent_.append(session).append(":").append(std::to_string(number));
} catch (...) {
}

void trace_calls(Table& table) {
#define CL_FUNCTION(version, function_name, ...)               \
  if (table.function_name != nullptr) {                        \
    using Entry = Traced<&Table::function_name>;               \
    Entry::function = table.function_name;                     \
    Entry::name = #function_name;                              \
    table.function_name = Entry::wrapper(table.function_name); \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION
}

}  // namespace cleave::remote::client
