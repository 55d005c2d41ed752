#include "remote/client/multi_server/migration.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "remote/client/api/command.h"
#include "remote/client/api/memory.h"
#include "remote/client/api/memory_transfer.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/connection.h"
#include "remote/client/multi_server/direct_transfer.h"

namespace cleave::remote::client::multi_server {
namespace {

// Two chunks are in memory at a time: one is read while the other is written.
constexpr std::size_t kChunkBytes = std::size_t{8} << 20U;

// A part of an object: bytes of a buffer, or whole rows of an image.
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

cl_int read(const MigrationEnd& from, const Chunk& chunk, std::byte* place, cl_event* event) {
  Command command({from.queue, 0, nullptr, event, CL_COMMAND_READ_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  return with_read(from.memory, chunk.origin.data(), chunk.region.data(), [&](auto make) {
    return command.send_read(false, Box::contiguous(place, chunk.bytes), make);
  });
}

cl_int write(const MigrationEnd& to, const Chunk& chunk, std::byte* place) {
  Command command({to.queue, 0, nullptr, nullptr, CL_COMMAND_WRITE_BUFFER});
  if (command.error != CL_SUCCESS) return command.error;
  return with_write(to.memory, chunk.origin.data(), chunk.region.data(), [&](auto make) {
    return command.send_blocking(make, Box::contiguous(place, chunk.bytes));
  });
}

// Reads the next chunk while it writes one.
cl_int copy(const MigrationEnd& from, const MigrationEnd& to) {
  const std::vector<Chunk> chunks = chunks_of(from.memory);
  std::array<std::unique_ptr<std::byte[]>, 2> places;
  std::size_t most = 0;
  for (const Chunk& one : chunks) most = std::max(most, one.bytes);
  for (auto& place : places) place.reset(new (std::nothrow) std::byte[most]);
  if (places[0] == nullptr || places[1] == nullptr) return CL_OUT_OF_HOST_MEMORY;
  cl_event next_read = nullptr;
  cl_int error = read(from, chunks[0], places[0].get(), &next_read);
  for (std::size_t i = 0; i < chunks.size() && error == CL_SUCCESS; ++i) {
    error = wait_for_end(next_read);
    client::clReleaseEvent(std::exchange(next_read, nullptr));
    if (error != CL_SUCCESS) break;
    if (i + 1 < chunks.size()) error = read(from, chunks[i + 1], places[(i + 1) % 2].get(), &next_read);
    if (error == CL_SUCCESS) error = write(to, chunks[i], places[i % 2].get());
  }
  if (next_read == nullptr) return error;
  wait_for_end(next_read);  // its data would come into freed memory
  client::clReleaseEvent(next_read);
  return error;
}

// Not where it has failed lately.
bool go_directly(const MigrationEnd& from, const MigrationEnd& to) {
  if (!can_go_directly(from, to)) return false;
  const std::string& source = from.memory.connection->address();
  const std::string& target = to.memory.connection->address();
  if (!client.direct_paths.may_try(source, target, DirectPaths::Clock::now())) return false;
  const bool good = transfer_directly(from, to);
  if (good) {
    client.direct_paths.succeeded(source, target);
  } else {
    client.direct_paths.failed(source, target, DirectPaths::Clock::now());
  }
  return good;
}

cl_int run(const Migration& migration) {
  const Object* const source = migration.source.object();
  const Object* const target = migration.target.object();
  if (source == nullptr || target == nullptr) return kConnectionLost;
  CoherenceDomain& domain = *migration.coherence->domain;
  const MigrationEnd from{domain.migration_queue(migration.from), state_of<MemoryState>(*source)};
  const MigrationEnd to{domain.migration_queue(migration.to), state_of<MemoryState>(*target)};
  if (go_directly(from, to)) return CL_SUCCESS;
  return copy(from, to);
}

void finish(Migration& migration, cl_int status) {
  if (status != CL_SUCCESS) invalidate_replica(*migration.coherence, migration.to, migration.done);
  migration.done->end(std::min(status, CL_COMPLETE));
}

}  // namespace

void start(const std::shared_ptr<Migration>& migration) {
  const auto left = std::make_shared<std::atomic<std::size_t>>(migration->dependencies.size() + 1);
  const auto count_one = [migration, left](cl_int) {
    if (left->fetch_sub(1) != 1) return;
    client.migration_worker.post([migration] {
      const bool has_contents = std::none_of(migration->suppliers.begin(), migration->suppliers.end(),
                                             [](const auto& one) { return one->has_failed(); });
      finish(*migration, has_contents ? run(*migration) : kConnectionLost);
    });
  };
  for (const auto& operation : std::exchange(migration->dependencies, {})) operation->on_end(count_one);
  count_one(CL_COMPLETE);
}

}  // namespace cleave::remote::client::multi_server
