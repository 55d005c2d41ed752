"""CLBlast: products of matrices of small whole numbers, so that the result is exact in any order. A unit is one of two large products, or a
batch of small ones."""

import ctypes

import role

ROW_MAJOR, AS_IS = 101, 111
BATCH = 64


def load():
    try:
        return ctypes.CDLL("libclblast.so.1")
    except OSError as why:
        raise role.Unavailable(f"CLBlast: {why}") from why


def handle(thing):
    return ctypes.c_void_p(thing.int_ptr)


def prepare(given):
    import numpy
    import pyopencl
    import pyopencl.array

    blas = load()
    device = role.device_of(given)
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    size = 256 if given.quick else 6144
    small = 64 if given.quick else 512
    count = min(BATCH, (size // small) ** 2)  # products of a batch, of parts of the same matrices
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    random = numpy.random.RandomState(7)
    arrays = [random.randint(-2, 3, (size, size)).astype(numpy.float32) for _ in range(2)]
    a, b = (pyopencl.array.to_device(queue, array) for array in arrays)
    c = pyopencl.array.zeros(queue, (size, size), numpy.float32)
    pointer = ctypes.byref(ctypes.c_void_p(queue.int_ptr))

    def check(status):
        if status != 0:
            raise SystemExit(f"CLBlast: error {status}")

    def large(left, right):
        edge = [ctypes.c_size_t(size)]
        check(blas.CLBlastSgemm(ROW_MAJOR, AS_IS, AS_IS, *edge * 3, one, handle(left.base_data), ctypes.c_size_t(0), *edge,
                                handle(right.base_data), ctypes.c_size_t(0), *edge, zero, handle(c.base_data), ctypes.c_size_t(0),
                                *edge, pointer, None))
        return c[size // 2].get()

    def batch():
        edge, stride = [ctypes.c_size_t(small)], ctypes.c_size_t(small * small)
        check(blas.CLBlastSgemmStridedBatched(ROW_MAJOR, AS_IS, AS_IS, *edge * 3, one, handle(a.base_data), ctypes.c_size_t(0), *edge,
                                              stride, handle(b.base_data), ctypes.c_size_t(0), *edge, stride, zero,
                                              handle(c.base_data), ctypes.c_size_t(0), *edge, stride, ctypes.c_size_t(count),
                                              pointer, None))
        return c.ravel()[(count - 1) * small * small:count * small * small].get()

    def right(results):
        middle, last = size // 2, slice((count - 1) * small ** 2, count * small ** 2)
        parts = [array.ravel()[last].reshape(small, small) for array in arrays]
        expected = [arrays[0][middle] @ arrays[1], arrays[1][middle] @ arrays[0], (parts[0] @ parts[1]).ravel()]
        return all(map(numpy.array_equal, results, expected))

    return role.Units(device.name, lambda kind: batch() if kind == 2 else large(*((a, b) if kind == 0 else (b, a))), 3, right=right)


if __name__ == "__main__":
    role.main(prepare, ("numpy", "pyopencl"))
