#include "remote/server/builds/trial_request.h"

#include <cstring>

namespace cleave::remote::server {
namespace {

// Visits all members in the same order to write and to read them.
template <typename Archive, typename Request>
void visit(Archive& archive, Request& request) {
  archive.number(request.work);
  archive.list(request.devices, [&](auto& place) {
    archive.number(place.platform);
    archive.number(place.device);
  });
  archive.text(request.folder);
  archive.text(request.options);
  archive.list(request.programs, [&](auto& program) {
    archive.number(program.origin);
    archive.list(program.texts, [&](auto& text) { archive.text(text); });
    archive.list(program.constants, [&](auto& constant) {
      archive.number(constant.id);
      archive.text(constant.value);
    });
  });
  archive.list(request.names, [&](auto& name) { archive.text(name); });
  archive.number(request.has_options);
}

class Writer {
 public:
  template <typename Number>
  void number(Number value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    out_ += value;
  }
  template <typename Items, typename Each>
  void list(const Items& items, Each each) {
    number(std::uint64_t{items.size()});
    for (const auto& item : items) each(item);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  template <typename Number>
  void number(Number& value) {
    good_ = good_ && rest_.size() >= sizeof value;
    if (!good_) return;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
  }
  void text(std::string& value) {
    const std::uint64_t size = count();
    value = rest_.substr(0, size);
    rest_.remove_prefix(value.size());
  }
  template <typename Items, typename Each>
  void list(Items& items, Each each) {
    for (std::uint64_t left = count(); good_ && left > 0; --left) each(items.emplace_back());
  }
  [[nodiscard]] bool is_at_end() const { return good_ && rest_.empty(); }

 private:
  // Of what takes at least a byte each.
  std::uint64_t count() {
    std::uint64_t count = 0;
    number(count);
    good_ = good_ && count <= rest_.size();
    return good_ ? count : 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string encode(const TrialRequest& request) {
  Writer writer;
  visit(writer, request);
  return writer.take();
}

bool decode(std::string_view text, TrialRequest& request) {
  request = {};
  Reader reader(text);
  visit(reader, request);
  return reader.is_at_end();
}

}  // namespace cleave::remote::server
