"""The workload of workload_python_client.py with a local driver and PyOpenCL. Prints the same."""

import warnings

import numpy as np
import pyopencl as cl

from workload import BROKEN, COUNT, GROUP, NO_ARGUMENT, OPTIONS, ROUNDS, SIZE, SOURCE, STATE, digest, without_file_names

warnings.simplefilter("ignore")


def error_of(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except cl.Error as error:
        return error.code
    return 0


def program_of(context, text):
    program = cl.Program(context, text)
    program.get_info(cl.program_info.SOURCE)  # From here on PyOpenCL builds this very program, and so has its log.
    return program


for platform in cl.get_platforms():
    print(f"platform {platform.name}, {platform.version}")
    for device in platform.get_devices():
        print(f"device {device.name}, {device.version}, {device.max_compute_units} units,"
              f" {device.global_mem_size} bytes, groups of {device.max_work_group_size}")

device = cl.get_platforms()[0].get_devices()[0]
parts = device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
print("parts of", [part.max_compute_units for part in parts], "units")
context = cl.Context([device])
queue = cl.CommandQueue(context, device, cl.command_queue_properties.PROFILING_ENABLE)

broken = program_of(context, BROKEN)
print(f"broken: {error_of(broken.build)}")
print(without_file_names(broken.get_build_info(device, cl.program_build_info.LOG)))

program = program_of(context, SOURCE)
program.build([OPTIONS])
kernel = cl.Kernel(program, "advance")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE)
print(f"kernel of {kernel.num_args} arguments, buffer of {buffer.size} bytes")

state = np.frombuffer(STATE, dtype=np.uint32)
result = np.zeros_like(state)
cl.enqueue_copy(queue, buffer, state)
kernel.set_arg(0, buffer)
for round_ in range(ROUNDS):
    kernel.set_arg(1, np.uint32(round_))
    cl.enqueue_nd_range_kernel(queue, kernel, (COUNT,), (GROUP,))
    if round_ == 0:
        cl.enqueue_copy(queue, result, buffer)
        print(f"after the first round: {digest(result)}")
cl.enqueue_copy(queue, result, buffer)
print(f"after all rounds: {digest(result)}")

print(f"a kernel that is not there: {error_of(cl.Kernel, program, 'missing')}")
print(f"an argument that is not there: {error_of(kernel.set_arg, NO_ARGUMENT, np.uint32(0))}")
print(f"beyond the buffer: {error_of(cl.enqueue_copy, queue, buffer, state, dst_offset=SIZE)}")
