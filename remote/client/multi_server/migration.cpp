#include "remote/client/multi_server/migration.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "remote/client/api/command.h"
#include "remote/client/api/memory.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/wire_types.h"

namespace cleave::remote::client::multi_server {
namespace {

// So much is on its way at a time, while as much is being written.
constexpr std::size_t kChunkBytes = std::size_t{8} << 20U;

// Some of an object: bytes of a buffer, or whole rows of an image.
struct Chunk {
  std::array<std::size_t, 3> origin;
  std::array<std::size_t, 3> region;
  std::size_t bytes;
};

std::vector<Chunk> chunks_of(const MemoryState& memory) {
  std::vector<Chunk> all;
  if (!is_image(memory)) {
    for (std::size_t at = 0; at < memory.size; at += kChunkBytes) {
      const std::size_t bytes = std::min(kChunkBytes, memory.size - at);
      all.push_back({{at, 0, 0}, {bytes, 1, 1}, bytes});
    }
    return all;
  }
  const auto extent = extent_of(memory);
  const std::size_t row = extent[0] * memory.pixel_bytes;
  const std::size_t most = std::max<std::size_t>(1, kChunkBytes / std::max<std::size_t>(1, row));
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
  const MemoryState& memory;
};

cl_int read(const End& from, const Chunk& chunk, std::byte* place, cl_event* event) {
  Command command({from.queue, 0, nullptr, event, CL_COMMAND_READ_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  const Box box = Box::contiguous(place, chunk.bytes);
  if (!is_image(from.memory)) {
    return command.send_read(false, box, [&](auto& b) {
      return wire::CreateReadBuffer(b, from.memory.id, chunk.origin[0], chunk.bytes);
    });
  }
  return command.send_read(false, box, [&](auto& b) {
    const wire::Size3 at = size3(chunk.origin.data());
    const wire::Size3 extent = size3(chunk.region.data());
    return wire::CreateReadImage(b, from.memory.id, &at, &extent);
  });
}

cl_int write(const End& to, const Chunk& chunk, std::byte* place) {
  Command command({to.queue, 0, nullptr, nullptr, CL_COMMAND_WRITE_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  const Box box = Box::contiguous(place, chunk.bytes);
  if (!is_image(to.memory)) {
    return command.send_blocking(
        [&](auto& b) { return wire::CreateWriteBuffer(b, to.memory.id, chunk.origin[0], chunk.bytes); }, box);
  }
  return command.send_blocking(
      [&](auto& b) {
        const wire::Size3 at = size3(chunk.origin.data());
        const wire::Size3 extent = size3(chunk.region.data());
        return wire::CreateWriteImage(b, to.memory.id, &at, &extent);
      },
      box);
}

// Reads the next stretch while it writes one.
cl_int copy(const End& from, const End& to) {
  const std::vector<Chunk> chunks = chunks_of(from.memory);
  std::array<std::unique_ptr<std::byte[]>, 2> places;
  std::size_t most = 0;
  for (const Chunk& one : chunks) most = std::max(most, one.bytes);
  for (auto& place : places) place.reset(new (std::nothrow) std::byte[most]);
  if (places[0] == nullptr || places[1] == nullptr) return CL_OUT_OF_HOST_MEMORY;
  cl_event coming = nullptr;
  cl_int error = read(from, chunks[0], places[0].get(), &coming);
  for (std::size_t i = 0; i < chunks.size() && error == CL_SUCCESS; ++i) {
    error = wait_for_end(coming);
    client::clReleaseEvent(std::exchange(coming, nullptr));
    if (error != CL_SUCCESS) break;
    if (i + 1 < chunks.size()) error = read(from, chunks[i + 1], places[(i + 1) % 2].get(), &coming);
    if (error == CL_SUCCESS) error = write(to, chunks[i], places[i % 2].get());
  }
  if (coming == nullptr) return error;
  wait_for_end(coming);  // it would come into memory that is gone
  client::clReleaseEvent(coming);
  return error;
}

cl_int run(const Migration& move) {
  const Object* const source = move.source.object();
  const Object* const target = move.target.object();
  if (source == nullptr || target == nullptr) return kConnectionLost;
  const CommandOrder& order = *move.coherence->order;
  return copy({order.migration_queue(move.from), state_of<MemoryState>(*source)},
              {order.migration_queue(move.to), state_of<MemoryState>(*target)});
}

void finish(Migration& move, cl_int status) {
  if (status != CL_SUCCESS) invalidate_replica(*move.coherence, move.to, move.done);
  move.done->end(std::min(status, CL_COMPLETE));
}

}  // namespace

Migration::Migration(std::shared_ptr<CoherenceState> the_contents, std::size_t from_part, std::size_t to_part)
    : coherence(std::move(the_contents)),
      from(from_part),
      to(to_part),
      source(coherence->replicas[from_part].memory),
      target(coherence->replicas[to_part].memory) {}

void start(const std::shared_ptr<Migration>& move) {
  const auto left = std::make_shared<std::atomic<std::size_t>>(move->dependencies.size() + 1);
  const auto one_less = [move, left](cl_int) {
    if (left->fetch_sub(1) != 1) return;
    client.migration_worker.post([move] {
      const bool is_there = std::none_of(move->suppliers.begin(), move->suppliers.end(),
                                         [](const auto& one) { return one->has_failed(); });
      finish(*move, is_there ? run(*move) : kConnectionLost);
    });
  };
  for (const auto& operation : std::exchange(move->dependencies, {})) operation->on_end(one_less);
  one_less(CL_COMPLETE);
}

}  // namespace cleave::remote::client::multi_server
