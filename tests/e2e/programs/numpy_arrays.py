"""PyOpenCL with numpy, in the ways that its users use it. Prints a digest of each result. Run by test_modes.py."""

import hashlib
import threading
import time

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void add_scaled(global const float* x, global const float* y, global float* out, float a) {
  size_t i = get_global_id(0);
  out[i] = a * x[i] + y[i];
}

kernel void transpose(global const float* in, global float* out, int rows, int columns) {
  size_t column = get_global_id(0), row = get_global_id(1);
  out[column * rows + row] = in[row * columns + column];
}

kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void product(global const float* a, global const float* b, global float* c, int n) {
  local float tile_a[8][8], tile_b[8][8];
  size_t x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    tile_a[y][x] = a[row * n + t + x];
    tile_b[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; ++k) sum += tile_a[y][k] * tile_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void advance(global uint* state) {
  size_t i = get_global_id(0);
  state[i] = state[i] * 1664525u + 1013904223u + (uint)i;
}
"""

READ = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
WRITE = cl.mem_flags.READ_WRITE


class Session:
    def __init__(self, properties=0):
        device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, properties=properties)
        self.program = cl.Program(self.context, SOURCE).build()
        self.random = np.random.RandomState(5)

    def numbers(self, *shape):
        return self.random.random_sample(shape).astype(np.float32)

    def buffer(self, array):
        return cl.Buffer(self.context, READ, hostbuf=array)

    def empty_like(self, array):
        return cl.Buffer(self.context, WRITE, array.nbytes)

    def result(self, buffer, like, wait_for=None):
        array = np.empty_like(like)
        cl.enqueue_copy(self.queue, array, buffer, wait_for=wait_for)
        return array


def show(title, *arrays):
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    print(f"{title}: {digest[:32]}", flush=True)


def element_wise():
    """Odd, prime and tiny sizes, with and without a local size."""
    session = Session()
    for size, local in ((1, None), (7, None), (1021, None), (1000, (8,)), (999, (27,)), (4096, None), (4099, None)):
        x, y = session.numbers(size), session.numbers(size)
        out = session.empty_like(x)
        session.program.add_scaled(
            session.queue, (size,), local, session.buffer(x), session.buffer(y), out, np.float32(2.5)
        )
        result = session.result(out, x)
        assert np.allclose(result, 2.5 * x + y)
        show(f"element-wise, {size} by {local}", result)


def two_dimensions():
    session = Session()
    for rows, columns, local in ((40, 24, (8, 4)), (37, 53, None), (1, 64, (16, 1)), (64, 1, (1, 2))):
        matrix = session.numbers(rows, columns)
        out = session.empty_like(matrix)
        session.program.transpose(
            session.queue, (columns, rows), local, session.buffer(matrix), out, np.int32(rows), np.int32(columns)
        )
        result = session.result(out, matrix.T.copy())
        assert np.array_equal(result, matrix.T)
        show(f"transpose, {rows} x {columns} by {local}", result)


def matrix_product(n=40):
    session = Session()
    a, b = session.numbers(n, n), session.numbers(n, n)
    c = session.empty_like(a)
    session.program.product(session.queue, (n, n), (8, 8), session.buffer(a), session.buffer(b), c, np.int32(n))
    result = session.result(c, a)
    assert np.allclose(result, a @ b)
    show("matrix product", result)


def profiling():
    session = Session(cl.command_queue_properties.PROFILING_ENABLE)
    state = np.arange(2048, dtype=np.uint32)
    buffer = cl.Buffer(session.context, WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=state)
    events = [session.program.advance(session.queue, (2048,), (64,), buffer) for _ in range(3)]
    events[-1].wait()
    ends = 0
    for event in events:
        times = event.profile
        assert times.queued <= times.submit <= times.start <= times.end
        assert times.start >= ends, "a launch begins before the one before it has ended"
        ends = times.end
        kind = cl.command_type.to_string(event.command_type)
        print(f"profiled: {kind}, {final_reference_count(event)} reference, its queue {event.command_queue == session.queue}")
    show("profiling", session.result(buffer, state))


def final_reference_count(event, duration=0.1):
    """The event's final reference count: drivers release some of theirs shortly after the wait has ended."""
    counts = [event.reference_count]
    end = time.monotonic() + duration
    while time.monotonic() < end:
        time.sleep(0.005)
        counts.append(event.reference_count)
    return min(counts)


def callbacks():
    session = Session()
    state = np.arange(2048, dtype=np.uint32)
    buffer = cl.Buffer(session.context, WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=state)
    completed, statuses = threading.Event(), []

    def finished(status):
        statuses.append(status)
        completed.set()

    event = session.program.advance(session.queue, (2048,), (32,), buffer)
    event.set_callback(cl.command_execution_status.COMPLETE, finished)
    session.queue.finish()
    assert completed.wait(10)
    print(f"callback: once {len(statuses) == 1}, status {statuses[0]}, event {event.command_execution_status}")


def out_of_order():
    """Two chains on an out-of-order queue that only their events keep in order, joined by a third launch."""
    session = Session(cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    x, y = session.numbers(2000), session.numbers(2000)
    buffers = [session.buffer(x), session.buffer(y), *(session.empty_like(x) for _ in range(3))]
    add = session.program.add_scaled
    left = add(session.queue, (2000,), (20,), buffers[0], buffers[1], buffers[2], np.float32(3))
    right = add(session.queue, (2000,), None, buffers[1], buffers[0], buffers[3], np.float32(5))
    gate = cl.UserEvent(session.context)
    join = add(
        session.queue, (2000,), (8,), buffers[2], buffers[3], buffers[4], np.float32(7), wait_for=[left, right, gate]
    )
    gate.set_status(cl.command_execution_status.COMPLETE)
    result = session.result(buffers[4], x, wait_for=[join])
    assert np.allclose(result, 7 * (3 * x + y) + (5 * y + x))
    show("out of order", result)


for example in (element_wise, two_dimensions, matrix_product, profiling, callbacks, out_of_order):
    example()
