"""silx: median filter, convolution, back projection, projection, statistics and key points; prints the results' digests."""

import hashlib

import numpy
import pyopencl
from silx.opencl import sift
from silx.opencl.backprojection import Backprojection
from silx.opencl.convolution import Convolution
from silx.opencl.medfilt import MedianFilter2D
from silx.opencl.projection import Projection
from silx.opencl.statistics import Statistics

context = pyopencl.create_some_context(interactive=False)
generator = numpy.random.default_rng(1)
image = generator.random((192, 256), dtype=numpy.float32)


def report(name, result):
    print(name, hashlib.sha256(numpy.ascontiguousarray(result).tobytes()).hexdigest())


report("median", MedianFilter2D(image.shape, (5, 5), ctx=context).medfilt2d(image))
report("convolution", Convolution(image.shape, numpy.ones((5, 5), numpy.float32), ctx=context)(image))
report("projection", Projection((64, 64), angles=60, ctx=context)(image[:64, :64].copy()))
report("back projection", Backprojection((60, 64), ctx=context)(image[:60, :64].copy()))
report("statistics", numpy.array(tuple(Statistics(image.size, ctx=context)(image)), dtype=numpy.float64))
points = sift.SiftPlan(shape=image.shape, dtype=numpy.float32, ctx=context).keypoints(image)
report("key points", numpy.sort(points, order=points.dtype.names[:4]))
