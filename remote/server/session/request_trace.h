// The client's commands in the server's trace: when each was carried out, under the number by which the client's trace knows it.
// docs/trace.md defines the events.
//
// For the thread that reads from the client. Nothing throws but the constructor (std::bad_alloc); events are dropped if memory
// runs out.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "observe/trace_writer.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::server {

class RequestTrace {
 public:
  // `file` must outlive this. Chooses a name for the session, which no other has.
  explicit RequestTrace(observe::TraceWriter& file);
  RequestTrace(const RequestTrace&) = delete;
  RequestTrace& operator=(const RequestTrace&) = delete;

  [[nodiscard]] const std::string& session() const { return session_; }

  // A command for as long as it is carried out. `trace` may be null.
  class Span {
   public:
    Span(RequestTrace* trace, std::uint64_t number, wire::Body body) noexcept;
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    ~Span();

   private:
    RequestTrace* const trace_;
    const std::uint64_t number_;
    const wire::Body body_;
    base::Nanoseconds begin_{0};
  };

 private:
  observe::TraceWriter& file_;
  base::Clock& clock_ = base::Clock::system();
  std::string session_;
};

}  // namespace cleave::remote::server
