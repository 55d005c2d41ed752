// Which handler a message goes to: the column `message` of opencl/functions.def.
#include <algorithm>
#include <array>
#include <cstddef>

#include "remote/server/handlers/derived_handlers.h"
#include "remote/server/handlers/handlers.h"

namespace cleave::remote::server {
namespace {

using Handler = void (*)(SessionContext&, const wire::Command&);

constexpr std::size_t index_of(wire::Body body) { return static_cast<std::size_t>(body); }

// The words of the column.
struct None {};
template <typename... Messages>
struct Handled {};
template <typename Message>
struct Relayed {};

struct Handlers {
  std::array<Handler, index_of(wire::Body::MAX) + 1> by_body{};

  template <auto Entry>
  constexpr void add(None) {}
  template <auto Entry, typename... Messages>
  constexpr void add(Handled<Messages...>) {
    (set<Messages>([](SessionContext& session, const wire::Command& command) {
       handle(session, command, *command.body_as<Messages>());
     }),
     ...);
  }
  template <auto Entry, typename Message>
  constexpr void add(Relayed<Message>) {
    set<Message>([](SessionContext& session, const wire::Command& command) {
      Relay<Entry, Message>::handle(session, command, *command.body_as<Message>());
    });
  }

 private:
  template <typename Message>
  constexpr void set(Handler handler) {
    by_body[index_of(wire::BodyTraits<Message>::enum_value)] = handler;
  }
};

constexpr Handlers make_handlers() {
  using namespace wire;
  Handlers handlers;
#define CLEAVE_MESSAGE_none None()
#define CLEAVE_MESSAGE_relayed(message) Relayed<message>()
#define CLEAVE_MESSAGE_handled(...) Handled<__VA_ARGS__>()
#define CL_FUNCTION(version, name, parameters, interposer, handles, remote, message) \
  handlers.add<&cleave::Table::name>(CLEAVE_MESSAGE_##message);
#include "opencl/functions.def"
#undef CL_FUNCTION
#undef CLEAVE_MESSAGE_handled
#undef CLEAVE_MESSAGE_relayed
#undef CLEAVE_MESSAGE_none
  handlers.add<nullptr>(Handled<Ping, OfferContents, FetchContents, KeepShared>());
  return handlers;
}

constexpr Handlers kHandlers = make_handlers();
static_assert(std::find(kHandlers.by_body.begin() + 1, kHandlers.by_body.end(), nullptr) ==
                  kHandlers.by_body.end(),
              "a message of the schema without a handler");

}  // namespace

// A message that is not in this version's schema is ignored, like an absent one.
void dispatch(SessionContext& session, const wire::Command& command) {
  const std::size_t body = index_of(command.body_type());
  if (body != 0 && body < kHandlers.by_body.size()) kHandlers.by_body[body](session, command);
}

}  // namespace cleave::remote::server
