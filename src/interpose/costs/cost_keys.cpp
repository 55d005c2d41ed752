#include "interpose/costs/cost_keys.h"

#include "base/text/hash.h"

namespace cleave::interpose {
std::uint64_t identity_of_kernel(const std::string& name, const ProgramRecord* program) noexcept {
  std::uint64_t hash = base::hash_of(name);
  if (program != nullptr && program->source_hash != 0) hash = learn::mix_key(hash, program->source_hash);
  if (program != nullptr && program->options) hash = base::hash_of(*program->options, hash);
  if (program != nullptr && program->origin != 0) hash = learn::mix_key(hash, program->origin);
  return hash != 0 ? hash : 1;
}

CostKeys cost_keys(base::LaunchMode mode, const KernelRecord& kernel, const QueueRecord& queue,
                   const plan::NDRange& range, bool in_turn) {
  constexpr std::uint64_t kInTurn = 0x7475726e;
  if (kernel.identity == 0 || queue.identity == 0) return {};
  const std::uint64_t kind =
      static_cast<std::uint64_t>(mode) << 2U | (queue.in_order ? 2U : 0U) | (queue.profiling ? 1U : 0U);
  CostKeys keys;
  keys.size_family = learn::mix_key(learn::mix_key(kernel.identity, queue.identity), kind);
  keys.launch = learn::mix_key(keys.size_family, range.dims);
  for (unsigned d = 0; d < range.dims; ++d)
    keys.launch = learn::mix_key(learn::mix_key(keys.launch, range.global[d]), range.local[d]);
  if (in_turn) keys.launch = learn::mix_key(keys.launch, kInTurn);
  return keys;
}

std::string launch_name(const KernelRecord& kernel, const plan::NDRange& range) {
  std::string name = kernel.counters != nullptr ? kernel.counters->name() : "(unknown)";
  for (unsigned d = 0; d < range.dims; ++d)
    name.append(d == 0 ? " " : "x").append(std::to_string(range.global[d]));
  return name;
}

}  // namespace cleave::interpose
