"""Runs the kernels of tests/kit/idioms, 64 work-groups each. Prints what they leave behind, a line for each."""

import sys
from pathlib import Path

import numpy as np
import pyopencl as cl

ITEMS = 4096

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
for file in sorted(Path(sys.argv[1]).rglob("*.cl")):
    text = file.read_text()
    verdict, _, options = text.splitlines()[0].removeprefix("// ").partition(":")
    if verdict not in sys.argv[2:]:
        continue
    data = (np.arange(2 * ITEMS, dtype=np.int32) * 7) % 13
    out = np.zeros(3 * ITEMS, dtype=np.int32)
    buffers = [cl.Buffer(context, flags, hostbuf=each) for each in (data, out)]
    cl.Program(context, text).build(options.split()).k(queue, (ITEMS,), (64,), *buffers, np.int32(ITEMS))
    for buffer, values in zip(buffers, (data, out)):
        cl.enqueue_copy(queue, values, buffer)
    sums = [int((values * np.arange(1, values.size + 1, dtype=np.int64)).sum()) for values in (data, out)]
    print(file.stem, *sums, out[:8].tolist(), flush=True)
