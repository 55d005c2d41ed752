"""PyOpenCL's own algorithms: a prefix sum, a radix sort and a reduction of the same numbers. A unit is one of each, in turn."""

import role

KEY_BITS = 16


def prepare(given):
    import numpy
    import pyopencl
    import pyopencl.array
    from pyopencl.algorithm import RadixSort
    from pyopencl.reduction import ReductionKernel
    from pyopencl.scan import GenericScanKernel

    device = role.device_of(given)
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    count = 1 << (12 if given.quick else 24)
    numbers = numpy.random.RandomState(7).randint(0, 1 << KEY_BITS, count).astype(numpy.uint32)
    values = pyopencl.array.to_device(queue, numbers)
    sums = pyopencl.array.empty(queue, count, numpy.uint32)
    scan = GenericScanKernel(context, numpy.uint32, "const unsigned int *in, unsigned int *out", "in[i]", "a+b", "0", "out[i] = item;")
    sort = RadixSort(context, "unsigned int *in", "in[i]", ["in"], key_dtype=numpy.uint32)
    add = ReductionKernel(context, numpy.uint64, "0", "a+b", "(ulong)x[i] * x[i]", "const unsigned int *x")

    some = slice(count // 2, count // 2 + 1024)  # of a result: a transfer of all would take longer than the kernels

    def scanned():
        scan(values, sums, queue=queue)
        return sums[some].get()

    def sorted_():
        (found,), event = sort(values, key_bits=KEY_BITS, queue=queue)
        event.wait()
        return found[some].get()

    def added():
        return add(values, queue=queue).get().reshape(1)

    def right(results):
        expected = [numpy.cumsum(numbers, dtype=numpy.uint32)[some], numpy.sort(numbers)[some],
                    [(numbers.astype(numpy.uint64) ** 2).sum()]]
        return all(map(numpy.array_equal, results, expected))

    return role.Units(device.name, lambda kind: (scanned, sorted_, added)[kind](), 3, right=right)


if __name__ == "__main__":
    role.main(prepare, ("numpy", "pyopencl"))
