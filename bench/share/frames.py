"""ffmpeg: frames of a video, each sharpened and blurred by its OpenCL filters. A request is one frame, through pipes.

One ffmpeg process is resident, and each frame is written whole before its result is read, so a request's time has the pipes, the upload,
the filters and the download in it. Its options keep it from probing, from holding frames back and from working on several at once.
"""

import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

import role

KINDS = 4
LIMIT = 60  # seconds for a frame: the first one has the compilation of the filters in it
SHARPEN = ((0, -1, 0), (-1, 6, -2), (0, -1, 0))  # whole numbers, so that what goes on from there is exact
BLUR = tuple(tuple(1 + (2 * row + 3 * column) % 5 for column in range(7)) for row in range(7))  # not symmetric: flipped would be seen


def program():
    """The one of the programs' folder, with the folder of its own libraries, or the system's."""
    for folder in (*map(pathlib.Path, sys.path), *map(pathlib.Path, os.environ.get("PATH", "").split(":"))):
        if (folder / "ffmpeg" / "ffmpeg").exists():
            return folder / "ffmpeg" / "ffmpeg", [str(folder / "ffmpeg" / "lib")]
    found = shutil.which("ffmpeg")
    if not found:
        raise role.Unavailable("ffmpeg: neither in PATH nor in a folder of that name in PATH or PYTHONPATH")
    return found, []


def convolution(matrix):
    numbers = [number for row in matrix for number in row]
    return f"convolution_opencl=0m='{' '.join(map(str, numbers))}':0rdiv=1/{sum(numbers)}"


def convolved(numpy, picture, matrix):
    """As the filter does it: the rows and columns at the edge go on beyond it; the result is an 8-bit number."""
    edge, (height, width) = len(matrix) // 2, picture.shape
    padded = numpy.pad(picture.astype(numpy.int64), edge, "edge")
    total = sum(number * padded[y:y + height, x:x + width] for y, row in enumerate(matrix) for x, number in enumerate(row))
    return numpy.clip(numpy.rint(total / numpy.sum(matrix)), 0, 255)


class Filters:
    def __init__(self, given, height, width):
        place, libraries = program()
        paths = [*filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *libraries]
        device = f"opencl=device:.0,platform_name={given.platform}" if given.platform else "opencl=device:0.0"
        graph = ["format=gray", "hwupload", convolution(SHARPEN), convolution(BLUR), "hwdownload", "format=gray"]
        self.size = height * width
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [place, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "error", "-init_hw_device", device, "-filter_hw_device", "device",
             "-probesize", "32", "-analyzeduration", "0", "-threads", "1", "-f", "rawvideo", "-pix_fmt", "gray",
             "-video_size", f"{width}x{height}", "-i", "pipe:0", "-filter_threads", "1", "-vf", ",".join(graph), "-fps_mode",
             "passthrough", "-threads", "1", "-f", "rawvideo", "-flush_packets", "1", "pipe:1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, bufsize=0, pipesize=1 << 20,
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(paths)} if paths else None)

    def why(self):
        self.process.kill()
        self.process.wait()
        self.said.seek(0)
        lines = [line for line in self.said.read().decode(errors="replace").splitlines() if "no version information" not in line]
        return "ffmpeg: " + (" ".join(lines)[-300:] or f"a frame did not come back, exit status {self.process.returncode}")

    def filtered(self, frame):
        """The same bytes, filtered."""
        found, until = bytearray(), time.monotonic() + LIMIT
        try:
            rest = memoryview(frame)
            while rest:
                rest = rest[self.process.stdin.write(rest):]
        except BrokenPipeError as why:
            raise role.Unavailable(self.why()) from why
        while len(found) < self.size:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), self.size - len(found)) if ready else b""
            if not more:
                raise role.Unavailable(self.why())
            found += more
        return found

    def close(self):
        """Its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Frames(role.Units):
    def __init__(self, numpy, filters, shape):
        random = numpy.random.RandomState(7)
        pictures = [random.randint(0, 256, shape).astype(numpy.uint8) for _ in range(KINDS)]
        frames = [picture.tobytes() for picture in pictures]

        def right(results):
            """Halves may have been rounded up or down."""
            return all(numpy.abs(numpy.frombuffer(found, numpy.uint8).reshape(shape) -
                                 convolved(numpy, convolved(numpy, picture, SHARPEN), BLUR)).max() <= 1
                       for found, picture in zip(results, pictures))

        self.filters = filters
        super().__init__("ffmpeg's OpenCL device", lambda kind: filters.filtered(frames[kind]), KINDS, right=right)

    def close(self):
        self.wrong += self.filters.close() != 0


def prepare(given):
    import numpy

    shape = (96, 128) if given.quick else (1080, 1920)
    return Frames(numpy, Filters(given, *shape), shape)


if __name__ == "__main__":
    role.main(prepare, ("numpy",))
