"""Programs with kernels whose results depend on the NDRange in ways that the prelude cannot hide, alongside others.

The names say what is expected: `cut_...` should be split, `keep_...` must stay unsplit, and `may_...` may do either.
"""

import numpy as np
import pyopencl as cl

FUNCTIONS = """
uint harmless(uint x) { return x * 5 + 1; }
uint group(uint x) { return x + __builtin_expect(get_group_id(0), 0); }
uint through(uint x) { return group(x) * 2; }

kernel void cut_plain(global uint* out) { size_t i = get_global_id(0); out[i] = i * 7 + get_local_id(0); }
kernel void cut_by_function(global uint* out) { size_t i = get_global_id(0); out[i] = harmless(i); }
kernel void keep_direct(global uint* out) { out[get_global_id(0)] = __builtin_expect(get_group_id(0), 0); }
kernel void keep_by_function(global uint* out) { out[get_global_id(0)] = group(3); }
kernel void keep_by_two(global uint* out) { out[get_global_id(0)] = through(3); }
kernel void keep_by_another_kernel(global uint* out) { keep_direct(out); }
"""

# Macros and declarations may call a function from anywhere: the conservative answer is to split none of these.
OUTSIDE_OF_FUNCTIONS = """
#define GROUP __builtin_expect(get_group_id(0), 0)
#define CALL(function, argument) function(argument)
#define KERNEL(name, body) kernel void name(global uint* out) { size_t i = get_global_id(0); out[i] = body; }

uint group(uint x) { return x + __builtin_expect(get_group_id(0), 0); }
uint defined_later(uint x);

KERNEL(may_by_macro, i * 3)
KERNEL(keep_in_a_body, __builtin_expect(get_num_groups(0), 64))
kernel void keep_by_macro(global uint* out) { out[get_global_id(0)] = GROUP; }
kernel void keep_by_argument(global uint* out) { out[get_global_id(0)] = CALL(group, 3); }
kernel void keep_by_declaration(global uint* out) { out[get_global_id(0)] = defined_later(3); }
uint defined_later(uint x) { return x + __builtin_expect(get_global_size(0), 1024); }
"""

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
for source in (FUNCTIONS, OUTSIDE_OF_FUNCTIONS):
    for kernel in sorted(cl.Program(context, source).build().all_kernels(), key=lambda each: each.function_name):
        values = np.zeros(1024, dtype=np.uint32)
        out = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
        kernel(queue, (1024,), (16,), out)
        cl.enqueue_copy(queue, values, out)
        print(kernel.function_name, int((values * np.arange(1, 1025, dtype=np.uint64)).sum()))
