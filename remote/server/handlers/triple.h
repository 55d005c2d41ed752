// Origins and regions of messages as the driver takes them.
#pragma once

#include <array>
#include <cstddef>

#include "remote/protocol/messages.h"

namespace cleave::remote::server {

using Triple = std::array<std::size_t, 3>;

// A missing size is three zeros.
inline Triple triple(const wire::Size3* size) {
  return size != nullptr ? Triple{size->x(), size->y(), size->z()} : Triple{};
}

}  // namespace cleave::remote::server
