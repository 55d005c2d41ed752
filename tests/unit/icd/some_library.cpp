// A library that is loaded by tests, and has nothing to do with OpenCL.

extern "C" int some_function() { return 1; }
