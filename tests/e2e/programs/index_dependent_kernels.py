"""Kernels whose results depend on the NDRange: each is a program of its own, so that each has to be recognised.

With the prelude those in FIXED_BY_PRELUDE see the whole launch in each of its slices; for the others it cannot do that.
"""

import numpy as np
import pyopencl as cl

# Each writes a property of its NDRange, or computes with it, for 1024 work-items in groups of 16 at the offset 32.
FIXED_BY_PRELUDE = {
    "group": "out[i] = get_group_id(0);",
    "groups": "out[i] = get_num_groups(0);",
    "size": "out[i] = get_global_size(0);",
    "offset": "out[i] = get_global_offset(0);",
    "stride": "for (size_t k = i - get_global_offset(0); k < 4096; k += get_global_size(0)) out[k] = k * 3;",
    "dimensions": "out[i] = get_work_dim();",
    "through_a_macro": "out[i] = MINE(0);\n#define UNUSED",
    "spliced": "out[i] = get_gro\\\nup_id(0);",
    "pasted": "out[i] = JOIN(get_num_, groups)(0);",
}
UNSPLIT = {
    "redefined": "out[i] = get_group_id(0);",
    "asked_for": "#ifdef get_group_id\nout[i] = 1;\n#else\nout[i] = get_group_id(0);\n#endif",
    "intrinsic": "out[i] = __builtin_expect(get_group_id(0), 0);",
}
MACROS = {
    "through_a_macro": "#define MINE get_group_id\n",
    "pasted": "#define JOIN(a, b) a##b\n",
    "redefined": "#define get_group_id(d) (get_group_id(d) + 1)\n",
}

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
for name, body in (FIXED_BY_PRELUDE | UNSPLIT).items():
    macros = MACROS.get(name, "")
    source = f"{macros}kernel void {name}(global uint* out) {{ size_t i = get_global_id(0);\n{body}\n}}\n"
    values = np.zeros(4096, dtype=np.uint32)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    kernel = getattr(cl.Program(context, source).build(), name)
    kernel(queue, (1024,), (16,), out, global_offset=(32,))
    cl.enqueue_copy(queue, values, out)
    print(name, int((values * np.arange(1, 4097, dtype=np.uint64)).sum()), values[32:1056:100])
