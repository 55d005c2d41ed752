#include "remote/server/supervisor/received_options.h"

#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "remote/server/supervisor/worker_messages.h"

namespace cleave::remote::server {

Options receive_options(const char* argument) {
  const ssize_t size = ::recv(STDIN_FILENO, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::vector<daemon::GivenValue> given;
  if (::recv(STDIN_FILENO, text.data(), text.size(), MSG_DONTWAIT) <= 0 || !decode(text, given))
    throw OptionError(std::string(argument) + ": is only for processes that the server starts");
  return options_from(std::move(given));
}

}  // namespace cleave::remote::server
