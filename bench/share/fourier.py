"""PyVkFFT on OpenCL: Fourier transforms of pictures, forwards and back. A unit is one pair."""

import role

TOLERANCE = 1e-4  # of the largest value: 32-bit floats


def prepare(given):
    import numpy
    import pyopencl
    import pyopencl.array
    from pyvkfft.opencl import VkFFTApp

    device = role.device_of(given)
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    shape = (1, 64, 64) if given.quick else (8, 2048, 2048)
    random = numpy.random.RandomState(7)
    pictures = (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(numpy.complex64)
    source = pyopencl.array.to_device(queue, pictures)
    there, back = (pyopencl.array.empty_like(source) for _ in range(2))
    transform = VkFFTApp(shape, numpy.complex64, queue=queue, ndim=2, inplace=False)

    def unit(_):
        transform.fft(source, there)
        transform.ifft(there, back)
        return numpy.concatenate([array[-1, -1].get() for array in (there, back)])

    def right(results):
        expected = numpy.concatenate([numpy.fft.fft2(pictures[-1])[-1], pictures[-1, -1]])
        return numpy.abs(results[0] - expected).max() < TOLERANCE * numpy.abs(expected).max()

    return role.Units(device.name, unit, right=right)


if __name__ == "__main__":
    role.main(prepare, ("numpy", "pyopencl", "pyvkfft.opencl"))
