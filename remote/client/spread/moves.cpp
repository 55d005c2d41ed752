#include "remote/client/spread/moves.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "remote/client/command.h"
#include "remote/client/memory.h"
#include "remote/client/regions.h"
#include "remote/client/wire_types.h"

namespace cleave::remote::client::spread {
namespace {

// So much is on its way at a time, while as much is being written.
constexpr std::size_t kStretch = std::size_t{8} << 20U;

// Some of an object: bytes of a buffer, or whole rows of an image.
struct Stretch {
  std::array<std::size_t, 3> origin;
  std::array<std::size_t, 3> region;
  std::size_t bytes;
};

std::vector<Stretch> stretches_of(const MemoryBody& memory) {
  std::vector<Stretch> all;
  if (!is_image(memory)) {
    for (std::size_t at = 0; at < memory.size; at += kStretch) {
      const std::size_t bytes = std::min(kStretch, memory.size - at);
      all.push_back({{at, 0, 0}, {bytes, 1, 1}, bytes});
    }
    return all;
  }
  const auto extent = extent_of(memory);
  const std::size_t row = extent[0] * memory.pixel;
  const std::size_t most = std::max<std::size_t>(1, kStretch / std::max<std::size_t>(1, row));
  for (std::size_t z = 0; z < extent[2]; ++z) {
    for (std::size_t y = 0; y < extent[1]; y += most) {
      const std::size_t rows = std::min(most, extent[1] - y);
      all.push_back({{0, y, z}, {extent[0], rows, 1}, rows * row});
    }
  }
  return all;
}

// One end of a move.
struct End {
  cl_command_queue queue;
  const MemoryBody& memory;
};

cl_int read(const End& from, const Stretch& stretch, std::byte* place, cl_event* event) {
  Command command({from.queue, 0, nullptr, event, CL_COMMAND_READ_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  const Box box = Box::line(place, stretch.bytes);
  if (!is_image(from.memory)) {
    return command.send_read(false, box, [&](auto& b) {
      return wire::CreateReadBuffer(b, from.memory.id, stretch.origin[0], stretch.bytes);
    });
  }
  return command.send_read(false, box, [&](auto& b) {
    const wire::Size3 at = size3(stretch.origin.data());
    const wire::Size3 extent = size3(stretch.region.data());
    return wire::CreateReadImage(b, from.memory.id, &at, &extent);
  });
}

cl_int write(const End& to, const Stretch& stretch, std::byte* place) {
  Command command({to.queue, 0, nullptr, nullptr, CL_COMMAND_WRITE_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  const Box box = Box::line(place, stretch.bytes);
  if (!is_image(to.memory)) {
    return command.send_blocking(
        [&](auto& b) { return wire::CreateWriteBuffer(b, to.memory.id, stretch.origin[0], stretch.bytes); },
        box);
  }
  return command.send_blocking(
      [&](auto& b) {
        const wire::Size3 at = size3(stretch.origin.data());
        const wire::Size3 extent = size3(stretch.region.data());
        return wire::CreateWriteImage(b, to.memory.id, &at, &extent);
      },
      box);
}

// Reads the next stretch while it writes one.
cl_int copy(const End& from, const End& to) {
  const std::vector<Stretch> stretches = stretches_of(from.memory);
  std::array<std::unique_ptr<std::byte[]>, 2> places;
  std::size_t most = 0;
  for (const Stretch& one : stretches) most = std::max(most, one.bytes);
  for (auto& place : places) place.reset(new (std::nothrow) std::byte[most]);
  if (places[0] == nullptr || places[1] == nullptr) return CL_OUT_OF_HOST_MEMORY;
  cl_event coming = nullptr;
  cl_int error = read(from, stretches[0], places[0].get(), &coming);
  for (std::size_t i = 0; i < stretches.size() && error == CL_SUCCESS; ++i) {
    error = wait_for_end(coming);
    client::clReleaseEvent(std::exchange(coming, nullptr));
    if (error != CL_SUCCESS) break;
    if (i + 1 < stretches.size()) error = read(from, stretches[i + 1], places[(i + 1) % 2].get(), &coming);
    if (error == CL_SUCCESS) error = write(to, stretches[i], places[i % 2].get());
  }
  if (coming == nullptr) return error;
  wait_for_end(coming);  // it would come into memory that is gone
  client::clReleaseEvent(coming);
  return error;
}

cl_int carry_out(const Move& move) {
  const Object* const source = move.source.object();
  const Object* const target = move.target.object();
  if (source == nullptr || target == nullptr) return kGone;
  const Ordering& ordering = *move.contents->ordering;
  return copy({ordering.transfers(move.from), body_of<MemoryBody>(*source)},
              {ordering.transfers(move.to), body_of<MemoryBody>(*target)});
}

void finish(Move& move, cl_int status) {
  if (status != CL_SUCCESS) forget_copy(*move.contents, move.to, move.done);
  move.done->end(std::min(status, CL_COMPLETE));
}

}  // namespace

Move::Move(std::shared_ptr<Contents> the_contents, std::size_t from_part, std::size_t to_part)
    : contents(std::move(the_contents)),
      from(from_part),
      to(to_part),
      source(contents->copies[from_part].memory),
      target(contents->copies[to_part].memory) {}

void start(const std::shared_ptr<Move>& move) {
  const auto left = std::make_shared<std::atomic<std::size_t>>(move->needs.size() + 1);
  const auto one_less = [move, left](cl_int) {
    if (left->fetch_sub(1) != 1) return;
    client.movers.post([move] {
      const bool is_there = std::none_of(move->givers.begin(), move->givers.end(),
                                         [](const auto& one) { return one->came_to_nothing(); });
      finish(*move, is_there ? carry_out(*move) : kGone);
    });
  };
  for (const auto& step : std::exchange(move->needs, {})) step->when_over(one_less);
  one_less(CL_COMPLETE);
}

}  // namespace cleave::remote::client::spread
