"""Programs that are compiled in two parts and linked, in each language version that the driver supports."""

import numpy as np
import pyopencl as cl

HELPERS = "uint where(void); uint where(void) { return get_global_id(0) * 3; }"
INDEX_DEPENDENT_HELPERS = "uint where(void); uint where(void) { return get_group_id(0) * 3; }"
KERNEL = "uint where(void); kernel void fill(global uint* out) { out[get_global_id(0)] = where() + 1; }"
INDEX_DEPENDENT_KERNEL = KERNEL.replace("where() + 1", "where() + get_global_size(0)")

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)


def linked(options, *sources):
    parts = [cl.Program(context, source) for source in sources]
    for part in parts:
        part.compile(options)
    return cl.link_program(context, parts)


for version in ("", "CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"):
    options = [f"-cl-std={version}"] if version else []
    for parts in ((HELPERS, KERNEL), (INDEX_DEPENDENT_HELPERS, INDEX_DEPENDENT_KERNEL)):
        try:
            program = linked(options, *parts)
        except cl.Error as error:
            print(version, error.routine, error.code)
            continue
        values = np.zeros(2048, dtype=np.uint32)
        out = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
        program.fill(queue, (1024,), (16,), out, global_offset=(32,))
        cl.enqueue_copy(queue, values, out)
        print(version, int((values * np.arange(1, 2049, dtype=np.uint64)).sum()), values[32:1056:100])
