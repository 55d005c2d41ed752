#include "cli/slurm/token.h"

#include <array>
#include <stdexcept>

#include <sys/random.h>

namespace cleave::cli {

std::string make_token() {
  std::array<unsigned char, 24> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw std::runtime_error("the system has no random bytes");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

}  // namespace cleave::cli
