"""One checked launch on every device that PyOpenCL finds, with the platforms' names and versions. (pip's PoCL does not know every
processor.)"""

import numpy
import pyopencl

SOURCE = "__kernel void squares(__global int* out) { size_t i = get_global_id(0); out[i] = (int)(i * i); }"

for platform in pyopencl.get_platforms():
    for device in platform.get_devices():
        context = pyopencl.Context([device])
        queue = pyopencl.CommandQueue(context)
        result = numpy.zeros(4096, numpy.int32)
        buffer = pyopencl.Buffer(context, pyopencl.mem_flags.WRITE_ONLY, result.nbytes)
        try:
            program = pyopencl.Program(context, SOURCE).build()
        except pyopencl.RuntimeError:
            print(platform.name, platform.version, "builds nothing")
            continue
        program.squares(queue, result.shape, (64,), buffer)
        pyopencl.enqueue_copy(queue, result, buffer).wait()
        right = (result == numpy.arange(4096, dtype=numpy.int32) ** 2).all()
        print(platform.name, platform.version, "right" if right else "wrong")
