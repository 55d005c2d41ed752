"""tinygrad: inference of a small transformer with fixed random weights. A request is one sequence of embedded tokens."""

import nets

HEADS = 8


def prepare(given):
    import numpy
    from tinygrad import Tensor

    layers, width, length = (1, 64, 16) if given.quick else (4, 256, 128)
    parts = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width), "up": (4 * width, width),
             "down": (width, 4 * width)}
    arrays = nets.weights(numpy, {f"{part}{i}": shape for i in range(layers) for part, shape in parts.items()})
    tensors = {name: Tensor(array).realize() for name, array in arrays.items()}

    def heads(x):
        return x.reshape(1, length, HEADS, width // HEADS)

    def forward(x):
        for i in range(layers):
            normal = x.layernorm()
            q, k, v = (heads(normal @ tensors[f"{part}{i}"].transpose()).transpose(1, 2) for part in "qkv")
            attended = q.scaled_dot_product_attention(k, v).transpose(1, 2).reshape(1, length, width)
            x = x + attended @ tensors[f"o{i}"].transpose()
            x = x + (x.layernorm() @ tensors[f"up{i}"].transpose()).relu() @ tensors[f"down{i}"].transpose()
        return x

    def reference(numpy, x):
        def layernorm(x):
            centred = x - x.mean(-1, keepdims=True)
            return centred / numpy.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)

        for i in range(layers):
            normal = layernorm(x)
            q, k, v = (heads(normal @ arrays[f"{part}{i}"].T).transpose(0, 2, 1, 3) for part in "qkv")
            scores = q @ k.transpose(0, 1, 3, 2) / (width // HEADS) ** 0.5
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            attended = (scores / scores.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(1, length, width)
            x = x + attended @ arrays[f"o{i}"].T
            x = x + numpy.maximum(layernorm(x) @ arrays[f"up{i}"].T, 0) @ arrays[f"down{i}"].T
        return x

    return nets.requests((1, length, width), forward, reference)


if __name__ == "__main__":
    nets.main(prepare)
