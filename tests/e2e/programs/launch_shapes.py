"""Launches that leave a slice little room: with three dimensions in use, and without a local size, by a kernel that sees all of it."""

import hashlib
import math

import numpy as np
import pyopencl as cl

SOURCE = """kernel void seen(global uint* out) {
  size_t row = (get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) - get_global_offset(1);
  global uint* to = out + (row * get_global_size(0) + get_global_id(0) - get_global_offset(0)) * 24;
  to[0] += get_work_dim();
  to[1] += get_num_groups(2) * 64 + get_group_id(2) * 8 + get_global_id(2) + get_global_offset(2);
  for (uint d = 0; d < 3; ++d, to += 7) {
    to[2] += get_global_id(d);
    to[3] += get_global_size(d);
    to[4] += get_global_offset(d);
    to[5] += get_group_id(d);
    to[6] += get_num_groups(d);
    to[7] += get_local_id(d);
    to[8] += get_local_size(d);
  }
}
"""

# Offset, global size, local size. Few local sizes: drivers compile a kernel for each.
LAUNCHES = (
    ((0, 0, 0), (4, 4, 16), (2, 2, 2)),  # the third dimension cut
    ((3, 5, 0), (4, 4, 16), (2, 2, 2)),
    ((3, 0, 6), (2, 16, 2), (2, 2, 2)),  # the second
    ((0, 0, 0), (4, 6, 4), (2, 2, 2)),  # two of them
    ((0, 0, 0), (6, 4, 4), (2, 2, 2)),  # all
    ((3, 5, 0), (4, 6, 2), None),  # one work-group, or many
    ((40,), (4102,), None),  # of two primes, and more than drivers make one work-group of
    ((0, 0), (50, 84), None),
)

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
kernel = cl.Program(context, SOURCE).build().seen
for offset, size, local in LAUNCHES:
    values = np.zeros(math.prod(size) * 24, dtype=np.uint32)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    kernel(queue, size, local, out, global_offset=offset)
    cl.enqueue_copy(queue, values, out)
    print(offset, size, local, values[-24:], hashlib.sha256(values.tobytes()).hexdigest())
