"""What the programs under tinygrad have in common: fixed weights, requests of several kinds, and a reference in NumPy."""

import os

import role

KINDS = 4  # different inputs, in turn
TOLERANCE = 1e-3  # between sums of 32-bit floats in different orders, of the largest output


def weights(numpy, shapes):
    """By name, from a fixed seed, so that what goes through them keeps its size."""
    random = numpy.random.RandomState(7)
    return {name: (random.standard_normal(shape) / numpy.prod(shape[1:]) ** 0.5).astype(numpy.float32)
            for name, shape in shapes.items()}


def requests(shape, forward, reference):
    """`forward(tinygrad, input)` with tinygrad's tensors, `reference(numpy, input)` with arrays of 64-bit floats."""
    import numpy
    from tinygrad import Device, Tensor, TinyJit

    random = numpy.random.RandomState(11)
    inputs = [random.standard_normal(shape).astype(numpy.float32) for _ in range(KINDS)]
    answer = TinyJit(lambda x: forward(x).realize())

    def unit(kind):
        return answer(Tensor(inputs[kind], device=Device.DEFAULT).realize()).numpy()

    def right(results):
        expected = [reference(numpy, x.astype(numpy.float64)) for x in inputs]
        return all(numpy.abs(found - of).max() < TOLERANCE * numpy.abs(of).max() for found, of in zip(results, expected))

    for _ in range(3):  # tinygrad records the second one's kernels and replays them from then on
        unit(0)
    return role.Units(f"tinygrad's {Device.DEFAULT}", unit, KINDS, right=right)


def main(prepare):
    os.environ["DEV"] = os.environ["DEFAULT_DEVICE"] = "CL"
    role.main(prepare, ("numpy", "tinygrad"))
