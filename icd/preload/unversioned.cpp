// Intentionally empty: libOpenCL.so without a version number only depends on the drop-in.
