"""tinygrad: one training step of a small convolutional network; prints the loss and the gradients' digests."""

import hashlib
import os

os.environ["DEV"] = "CL"

import numpy  # noqa: E402
from tinygrad import Tensor  # noqa: E402

generator = numpy.random.default_rng(1)


def tensor(*shape):
    made = Tensor(generator.standard_normal(shape).astype(numpy.float32), device="CL")
    made.requires_grad = True
    return made


images, kernels, weights = tensor(16, 1, 28, 28), tensor(8, 1, 3, 3), tensor(1352, 10)
loss = images.conv2d(kernels).relu().max_pool2d().flatten(1).matmul(weights).log_softmax().sum()
loss.backward()
for gradient in (kernels.grad, weights.grad):
    print(hashlib.sha256(gradient.numpy().tobytes()).hexdigest())
print(loss.item())
