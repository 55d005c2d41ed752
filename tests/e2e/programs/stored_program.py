"""A program that keeps its compiled kernels in the file that it is given: the first run compiles them, later ones load them."""

import sys
from pathlib import Path

import numpy as np
import pyopencl as cl

SOURCE = """kernel void place(global uint* data) {
  size_t i = get_global_id(0);
  data[i] = data[i] * get_num_groups(0) + get_group_id(0) * get_global_size(0);
}"""

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
kept = Path(sys.argv[1])
if kept.exists():
    program = cl.Program(context, [device], [kept.read_bytes()]).build()
else:
    program = cl.Program(context, SOURCE).build()
    kept.write_bytes(program.get_info(cl.program_info.BINARIES)[0])

values = np.arange(2048, dtype=np.uint32)
data = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
program.place(queue, (2048,), (16,), data)
cl.enqueue_copy(queue, values, data)
print(int((values.astype(np.uint64) * np.arange(1, 2049, dtype=np.uint64)).sum()))
