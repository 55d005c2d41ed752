"""Prints the names of the platforms in the loader's order, one a line. In a process of its own: drivers may crash."""

import ctypes

PLATFORM_NAME = 0x0902

cl = ctypes.CDLL("libOpenCL.so.1")
count = ctypes.c_uint()
if cl.clGetPlatformIDs(0, None, ctypes.byref(count)) == 0:
    platforms = (ctypes.c_void_p * count.value)()
    cl.clGetPlatformIDs(count, platforms, None)
    for platform in platforms:
        name = ctypes.create_string_buffer(1024)
        cl.clGetPlatformInfo(ctypes.c_void_p(platform), PLATFORM_NAME, ctypes.c_size_t(len(name)), name, None)
        print(name.value.decode(errors="replace"))
