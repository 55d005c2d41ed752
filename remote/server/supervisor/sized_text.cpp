#include "remote/server/supervisor/sized_text.h"

#include <istream>
#include <ostream>

namespace cleave::remote::server {

void write_sized(std::ostream& stream, const std::string& text) {
  stream << text.size() << ' ' << text << ' ';
}

bool read_sized(std::istream& stream, std::string& text, std::size_t most) {
  std::size_t size = 0;
  stream >> size;
  stream.get();
  if (!stream || size > most) return false;
  text.resize(size);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  return static_cast<bool>(stream);
}

}  // namespace cleave::remote::server
