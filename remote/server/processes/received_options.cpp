#include "remote/server/processes/received_options.h"

#include <unistd.h>

#include <sys/socket.h>

#include "remote/server/processes/packets.h"

namespace cleave::remote::server {

Options receive_options(const char* argument) {
  PacketReader reader(kMaxOptionsSize);
  reader.read_socket(STDIN_FILENO, MSG_DONTWAIT);
  const auto* const options = reader.get<ipc::Options>();
  if (options == nullptr)
    throw OptionError(std::string(argument) + ": is only for processes that the server starts");
  return options_from(decode(*options));
}

}  // namespace cleave::remote::server
