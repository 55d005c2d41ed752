// The throughput of plain sockets on this machine, as the baseline. Another process answers.
#pragma once

#include <cstddef>

namespace cleave::bench {

enum class SocketKind { tcp, unix_socket };

// Seconds for `bytes` there and one byte back (`back` false), or one byte there and `bytes` back. The least
// of `repeats` if `least`, else the median.
double exchange(SocketKind kind, std::size_t bytes, bool back, unsigned repeats);

}  // namespace cleave::bench
