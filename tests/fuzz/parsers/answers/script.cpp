#include "script.h"

#include <algorithm>

#include "remote/protocol/features.h"

namespace cleave::fuzz::answers {

Script read_script(std::span<const std::uint8_t> input) {
  constexpr std::size_t kHead = 6;
  Script script;
  script.program = input.empty() ? 0 : input[0] & kPrograms;
  script.welcome = !input.empty() && (input[0] & kWelcome) != 0;
  script.late = !input.empty() && (input[0] & kLate) != 0;
  script.features = input.size() < 2 ? UINT8_MAX : input[1];
  if ((script.features & kHighFeatures) != 0)
    script.features |= remote::bit(remote::Feature::kept_shared) | remote::bit(remote::Feature::judgements);
  input = input.subspan(std::min<std::size_t>(input.size(), 2));
  while (input.size() >= kHead) {
    const auto number = [&](std::size_t at) {
      return static_cast<std::uint16_t>(input[at] + 256U * input[at + 1]);
    };
    const std::size_t size = std::min<std::size_t>(number(2), input.size() - kHead);
    Fault fault;
    fault.after = input[0];
    fault.kind = static_cast<Fault::Kind>(input[1] & 7U);
    fault.patched = (input[1] & kWithCommandIds) != 0;
    fault.frame = input[1] >> 6U;
    fault.payload = number(4);
    const auto bytes = input.subspan(kHead, size);
    fault.bytes.assign(bytes.begin(), bytes.end());
    script.faults[(input[1] & kOnSecondServer) != 0 ? 1 : 0].push_back(std::move(fault));
    input = input.subspan(kHead + size);
  }
  return script;
}

}  // namespace cleave::fuzz::answers
