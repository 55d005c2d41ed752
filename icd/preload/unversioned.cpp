// Nothing: libOpenCL.so without a version number only leads to the drop-in, which it needs.
