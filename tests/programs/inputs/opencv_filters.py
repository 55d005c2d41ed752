"""OpenCV: filters, transforms and features on UMat; prints the results' digests."""

import hashlib

import cv2
import numpy

cv2.ocl.setUseOpenCL(True)
if not cv2.ocl.useOpenCL():
    raise SystemExit("OpenCV finds no OpenCL device")
generator = numpy.random.default_rng(1)
colours = generator.integers(0, 256, (240, 320, 3), dtype=numpy.uint8)
grey = cv2.cvtColor(colours, cv2.COLOR_BGR2GRAY)


def report(name, result):
    array = result.get() if isinstance(result, cv2.UMat) else numpy.asarray(result)
    print(name, hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest())


colours_on_device, grey_on_device = cv2.UMat(colours), cv2.UMat(grey)
report("grey", cv2.cvtColor(colours_on_device, cv2.COLOR_BGR2GRAY))
report("blur", cv2.GaussianBlur(grey_on_device, (5, 5), 1.5))
report("median", cv2.medianBlur(grey_on_device, 5))
report("bilateral", cv2.bilateralFilter(grey_on_device, 5, 20, 20))
report("sobel", cv2.Sobel(grey_on_device, cv2.CV_16S, 1, 0))
report("laplace", cv2.Laplacian(grey_on_device, cv2.CV_16S, ksize=3))
report("edges", cv2.Canny(grey_on_device, 50, 150))
report("threshold", cv2.threshold(grey_on_device, 127, 255, cv2.THRESH_BINARY)[1])
report("erosion", cv2.erode(grey_on_device, numpy.ones((3, 3), numpy.uint8)))
report("half", cv2.resize(colours_on_device, (160, 120), interpolation=cv2.INTER_AREA))
report("warp", cv2.warpAffine(grey_on_device, numpy.float32([[0.9, 0.1, 3], [-0.1, 0.9, 5]]), (320, 240)))
report("histogram", cv2.calcHist([grey_on_device], [0], None, [256], [0, 256]))
report("equal", cv2.equalizeHist(grey_on_device))
report("pyramid", cv2.pyrDown(grey_on_device))
report("corners", cv2.cornerHarris(grey_on_device, 2, 3, 0.04))
report("template", cv2.matchTemplate(grey_on_device, cv2.UMat(grey[40:56, 60:76].copy()), cv2.TM_SQDIFF))
report("transform", cv2.dft(cv2.UMat(grey[:128, :128].astype(numpy.float32)), flags=cv2.DFT_COMPLEX_OUTPUT))
report("product", cv2.gemm(cv2.UMat(grey[:64, :64].astype(numpy.float32)), cv2.UMat(grey[:64, :64].astype(numpy.float32)),
                           1.0, None, 0.0))
report("sum", cv2.sumElems(grey_on_device))
report("extremes", cv2.minMaxLoc(grey_on_device)[:2])
report("integral", cv2.integral(grey_on_device))
