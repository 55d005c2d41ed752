"""CLBlast: routines of all three levels through its C interface; prints the results' digests."""

import ctypes
import hashlib

import numpy
import pyopencl
import pyopencl.array

ROW_MAJOR, NO, YES, LEFT, LOWER, UNIT = 101, 111, 112, 141, 122, 132

library = ctypes.CDLL("libclblast.so.1")
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
generator = numpy.random.default_rng(1)


def array(*shape):
    return pyopencl.array.to_device(queue, generator.random(shape, dtype=numpy.float32))


class Argument:
    """How the C interface takes an array: the buffer and the offset, and the increment or leading dimension."""

    def __init__(self, of, step):
        self.words = [ctypes.c_void_p(of.base_data.int_ptr), ctypes.c_size_t(0)] + ([ctypes.c_size_t(step)] if step else [])


def call(routine, result, *arguments):
    words = []
    for argument in arguments:
        if isinstance(argument, Argument):
            words += argument.words
        elif isinstance(argument, float):
            words.append(ctypes.c_float(argument))
        elif argument in (ROW_MAJOR, NO, YES, LEFT, LOWER, UNIT):
            words.append(ctypes.c_int(argument))
        else:
            words.append(ctypes.c_size_t(argument))
    place = ctypes.c_void_p(queue.int_ptr)
    status = getattr(library, f"CLBlast{routine}")(*words, ctypes.byref(place), None)
    if status != 0:
        raise SystemExit(f"{routine}: status {status}")
    queue.finish()
    print(routine, hashlib.sha256(result.get().tobytes()).hexdigest())


def vector(of):
    return Argument(of, 1)


def matrix(of):
    return Argument(of, of.shape[1])


x, y = array(10007), array(10007)
call("Sscal", x, 10007, 0.7, vector(x))
call("Saxpy", y, 10007, 0.5, vector(x), vector(y))
call("Sswap", x, 10007, vector(x), vector(y))
for routine in ("Sdot", "Snrm2", "Sasum"):
    result = pyopencl.array.zeros(queue, 1, numpy.float32)
    call(routine, result, 10007, Argument(result, 0), vector(x), *([vector(y)] if routine == "Sdot" else []))
a, b, c = array(300, 180), array(180, 240), array(300, 240)
x, y = array(180), array(300)
call("Sgemv", y, ROW_MAJOR, NO, 300, 180, 1.5, matrix(a), vector(x), 0.5, vector(y))
call("Sger", a, ROW_MAJOR, 300, 180, 0.5, vector(y), vector(x), matrix(a))
call("Sgemm", c, ROW_MAJOR, NO, NO, 300, 240, 180, 1.5, matrix(a), matrix(b), 0.5, matrix(c))
large = [array(512, 512) for _ in range(3)]
call("Sgemm", large[2], ROW_MAJOR, NO, YES, 512, 512, 512, 1.0, *map(matrix, large[:2]), 0.0, matrix(large[2]))
triangle, transposed = array(180, 180), array(180, 300)
call("Strsm", b, ROW_MAJOR, LEFT, LOWER, NO, UNIT, 180, 240, 1.0, matrix(triangle), matrix(b))
call("Somatcopy", transposed, ROW_MAJOR, YES, 300, 180, 2.0, matrix(a), matrix(transposed))
