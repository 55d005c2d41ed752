// A box of bytes in the program's memory: rows of one length, in slices. On the wire the rows follow each other without
// gaps ("wire order").
//
// Not thread-safe, but has no state besides the addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cleave::remote::client {

struct Box {
  std::byte* base = nullptr;
  std::size_t width = 0;  // bytes in a row
  std::size_t rows = 1;
  std::size_t slices = 1;
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  static Box contiguous(void* memory, std::size_t bytes) {
    return {static_cast<std::byte*>(memory), bytes, 1, 1, bytes, bytes};
  }

  [[nodiscard]] std::size_t bytes() const { return width * rows * slices; }

  // Whether there are no gaps between its rows.
  [[nodiscard]] bool is_contiguous() const {
    return (rows == 1 || row_pitch == width) && (slices == 1 || slice_pitch == width * rows);
  }

  // Calls visit(pointer, bytes) for each contiguous run from byte `done` (in wire order) on, until it returns false.
  template <typename Visit>
  void for_each_run(std::size_t done, Visit visit) const {
    const std::size_t run = is_contiguous() ? bytes() : width;
    for (std::size_t at = done; at < bytes();) {
      const std::size_t inside = at % run;
      if (!visit(place(at), run - inside)) return;
      at += run - inside;
    }
  }

  // Copies `count` bytes, from byte `done` in wire order on, to `target`.
  void copy_to(std::byte* target, std::size_t done, std::size_t count) const {
    for_each_run(done, [&](const std::byte* place, std::size_t run) {
      const std::size_t now = std::min(run, count);
      std::memcpy(target, place, now);
      target += now;
      count -= now;
      return count != 0;
    });
  }

  // Copies `count` bytes from `source` to byte `done` and the following ones, by copy(target, source, bytes).
  template <typename Copy>
  void copy_from(const std::byte* source, std::size_t done, std::size_t count, Copy copy) const {
    for_each_run(done, [&](std::byte* place, std::size_t run) {
      const std::size_t now = std::min(run, count);
      copy(place, source, now);
      source += now;
      count -= now;
      return count != 0;
    });
  }

  void copy_from(const std::byte* source, std::size_t done, std::size_t count) const {
    copy_from(source, done, count,
              [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
  }

  // The address of byte `at` in wire order.
  [[nodiscard]] std::byte* place(std::size_t at) const {
    if (is_contiguous()) return base + at;
    const std::size_t row = at / width;
    return base + row / rows * slice_pitch + row % rows * row_pitch + at % width;
  }
};

}  // namespace cleave::remote::client
