"""clFFT: transforms in one, two and three dimensions through its C interface; prints the results' digests."""

import ctypes
import hashlib

import numpy
import pyopencl
import pyopencl.array

FORWARD, BACKWARD, SINGLE, INTERLEAVED, IN_PLACE = -1, 1, 1, 1, 1

library = ctypes.CDLL("libclFFT.so.2")
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
generator = numpy.random.default_rng(1)


def check(status):
    if status != 0:
        raise SystemExit(f"clFFT: status {status}")


def transform(*shape):
    values = (generator.random(shape) + 1j * generator.random(shape)).astype(numpy.complex64)
    data = pyopencl.array.to_device(queue, values)
    lengths = (ctypes.c_size_t * len(shape))(*reversed(shape))
    plan, place = ctypes.c_size_t(), ctypes.c_void_p(queue.int_ptr)
    check(library.clfftCreateDefaultPlan(ctypes.byref(plan), ctypes.c_void_p(context.int_ptr), len(shape), lengths))
    check(library.clfftSetPlanPrecision(plan, SINGLE))
    check(library.clfftSetLayout(plan, INTERLEAVED, INTERLEAVED))
    check(library.clfftSetResultLocation(plan, IN_PLACE))
    check(library.clfftBakePlan(plan, 1, ctypes.byref(place), None, None))
    buffer = ctypes.c_void_p(data.base_data.int_ptr)
    for direction in (FORWARD, BACKWARD):
        check(library.clfftEnqueueTransform(plan, direction, 1, ctypes.byref(place), 0, None, None, ctypes.byref(buffer),
                                            None, None))
        queue.finish()
        print(shape, direction, hashlib.sha256(data.get().tobytes()).hexdigest())
    check(library.clfftDestroyPlan(ctypes.byref(plan)))


check(library.clfftSetup(None))
transform(4096)
transform(65536)
transform(128, 96)
transform(16, 32, 64)
check(library.clfftTeardown())
