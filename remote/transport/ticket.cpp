#include "remote/transport/ticket.h"

#include <algorithm>
#include <cerrno>

#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace cleave::remote {
namespace {

// False: the system has none to give.
bool fill_randomly(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<Ticket> make_ticket() {
  Ticket ticket;
  return fill_randomly(ticket.id) && fill_randomly(ticket.key) ? std::optional(ticket) : std::nullopt;
}

std::optional<Nonce> make_nonce() {
  Nonce nonce{};
  return fill_randomly(nonce) ? std::optional(nonce) : std::nullopt;
}

std::string as_bytes(const Ticket& ticket) {
  std::string bytes(reinterpret_cast<const char*>(ticket.id.data()), ticket.id.size());
  return bytes.append(reinterpret_cast<const char*>(ticket.key.data()), ticket.key.size());
}

std::optional<Ticket> read_ticket(std::span<const std::byte> bytes) {
  if (bytes.size() != kTicketSize) return std::nullopt;
  Ticket ticket;
  std::copy_n(bytes.begin(), ticket.id.size(), ticket.id.begin());
  std::copy_n(bytes.begin() + ticket.id.size(), ticket.key.size(), ticket.key.begin());
  return ticket;
}

std::optional<TicketProof> prove(const Ticket& ticket, TransferRole role, const Nonce& of_target,
                                 const Nonce& of_source) {
  std::array<std::byte, 1 + sizeof(TicketId) + 2 * sizeof(Nonce)> text{};
  text[0] = static_cast<std::byte>(role);
  auto* end = std::copy(ticket.id.begin(), ticket.id.end(), text.begin() + 1);
  end = std::copy(of_target.begin(), of_target.end(), end);
  std::copy(of_source.begin(), of_source.end(), end);
  TicketProof proof{};
  unsigned size = 0;
  const unsigned char* const made =
      ::HMAC(EVP_sha256(), ticket.key.data(), static_cast<int>(ticket.key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<unsigned char*>(proof.data()), &size);
  return made != nullptr && size == proof.size() ? std::optional(proof) : std::nullopt;
}

bool is_proven(const std::optional<TicketProof>& expected, std::span<const std::byte> given) {
  return expected && given.size() == expected->size() &&
         ::CRYPTO_memcmp(expected->data(), given.data(), given.size()) == 0;
}

}  // namespace cleave::remote
