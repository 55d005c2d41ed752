"""A program that caches its compiled kernels, as many do: built once from source, and then from the binary."""

import numpy as np
import pyopencl as cl

SOURCE = "kernel void square(global uint* data) { size_t i = get_global_id(0); data[i] = data[i] * data[i] + 1; }"

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)


def launch(program):
    values = np.arange(2048, dtype=np.uint32)
    data = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    program.square(queue, (2048,), (16,), data)
    cl.enqueue_copy(queue, values, data)
    print(int(values.astype(np.uint64).sum()))


from_source = cl.Program(context, SOURCE).build()
launch(from_source)
launch(cl.Program(context, [device], from_source.get_info(cl.program_info.BINARIES)).build())
