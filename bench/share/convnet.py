"""tinygrad: inference of a small convolutional net with fixed random weights. A request is one picture."""

import nets

LAYERS = ((3, 32), (32, 64), (64, 64), (64, 128), (128, 128), (128, 128))  # channels in and out, 3 by 3; the size halves after every second
CLASSES = 100


def prepare(given):
    import numpy
    from tinygrad import Tensor

    size = 16 if given.quick else 64
    layers = LAYERS[:2] if given.quick else LAYERS
    shapes = {str(i): (out, into, 3, 3) for i, (into, out) in enumerate(layers)} | {"last": (CLASSES, layers[-1][1])}
    arrays = nets.weights(numpy, shapes)
    tensors = {name: Tensor(array).realize() for name, array in arrays.items()}

    def forward(x):
        for i in range(len(layers)):
            x = x.conv2d(tensors[str(i)], padding=1).relu()
            x = x.max_pool2d(2) if i % 2 else x
        return x.mean((2, 3)) @ tensors["last"].transpose()

    def reference(numpy, x):
        for i in range(len(layers)):
            padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
            windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
            x = numpy.maximum(numpy.tensordot(windows, arrays[str(i)], ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2), 0)
            if i % 2:
                one, channels, height, width = x.shape
                x = x.reshape(one, channels, height // 2, 2, width // 2, 2).max((3, 5))
        return x.mean((2, 3)) @ arrays["last"].T

    return nets.requests((1, 3, size, size), forward, reference)


if __name__ == "__main__":
    nets.main(prepare)
