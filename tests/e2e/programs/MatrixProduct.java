// Multiplies two matrices of whole numbers with OpenCL, which it reaches through JNA, and compares with its own product. It
// knows nothing of Cleave.
//
//   java -cp jna.jar MatrixProduct.java
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;

public class MatrixProduct {
  public interface OpenCL extends Library {
    int clGetPlatformIDs(int entries, Pointer[] platforms, IntByReference found);
    int clGetDeviceIDs(Pointer platform, long type, int entries, Pointer[] devices, IntByReference found);
    Pointer clCreateContext(Pointer properties, int count, Pointer[] devices, Pointer notify, Pointer data, IntByReference error);
    Pointer clCreateCommandQueue(Pointer context, Pointer device, long properties, IntByReference error);
    Pointer clCreateBuffer(Pointer context, long flags, long size, Pointer host, IntByReference error);
    Pointer clCreateProgramWithSource(Pointer context, int count, String[] texts, long[] lengths, IntByReference error);
    int clBuildProgram(Pointer program, int count, Pointer[] devices, String options, Pointer notify, Pointer data);
    Pointer clCreateKernel(Pointer program, String name, IntByReference error);
    int clSetKernelArg(Pointer kernel, int index, long size, Pointer value);
    int clEnqueueNDRangeKernel(Pointer queue, Pointer kernel, int dims, long[] offset, long[] global, long[] local, int waits,
        Pointer[] list, PointerByReference event);
    int clEnqueueReadBuffer(Pointer queue, Pointer buffer, int blocking, long offset, long size, Pointer to, int waits,
        Pointer[] list, PointerByReference event);
    int clWaitForEvents(int count, Pointer[] events);
  }

  static final int N = 96;
  static final long DEFAULT = 1, READ_WRITE = 1, COPY = 1 << 5;
  static final String SOURCE =
      "kernel void product(int n, global const int* a, global const int* b, global int* c) {\n"
      + "  int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
      + "  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];\n"
      + "  c[y * n + x] = sum;\n}\n";

  static void check(String what, int error) {
    if (error != 0) throw new IllegalStateException(what + ": error " + error);
  }

  static Memory holding(Pointer handle) {
    Memory memory = new Memory(Native.POINTER_SIZE);
    memory.setPointer(0, handle);
    return memory;
  }

  static Memory matrix(int factor) {
    Memory memory = new Memory(4L * N * N);
    for (int i = 0; i < N * N; ++i) memory.setInt(4L * i, i * factor % 101 - 50);
    return memory;
  }

  public static void main(String[] arguments) {
    OpenCL cl = Native.load("OpenCL", OpenCL.class);
    IntByReference error = new IntByReference();
    Pointer[] platform = new Pointer[1], device = new Pointer[1];
    check("clGetPlatformIDs", cl.clGetPlatformIDs(1, platform, null));
    check("clGetDeviceIDs", cl.clGetDeviceIDs(platform[0], DEFAULT, 1, device, null));
    Pointer context = cl.clCreateContext(null, 1, device, null, null, error);
    check("clCreateContext", error.getValue());
    Pointer queue = cl.clCreateCommandQueue(context, device[0], 0, error);
    check("clCreateCommandQueue", error.getValue());
    Pointer program = cl.clCreateProgramWithSource(context, 1, new String[] {SOURCE}, null, error);
    check("clCreateProgramWithSource", error.getValue());
    check("clBuildProgram", cl.clBuildProgram(program, 0, null, "", null, null));
    Pointer kernel = cl.clCreateKernel(program, "product", error);
    check("clCreateKernel", error.getValue());

    Memory n = new Memory(4), a = matrix(7), b = matrix(13), c = matrix(0);
    n.setInt(0, N);
    check("clSetKernelArg", cl.clSetKernelArg(kernel, 0, 4, n));
    Pointer[] buffers = new Pointer[3];
    Memory[] contents = {a, b, c};
    for (int i = 0; i < 3; ++i) {
      buffers[i] = cl.clCreateBuffer(context, READ_WRITE | COPY, 4L * N * N, contents[i], error);
      check("clCreateBuffer", error.getValue());
      check("clSetKernelArg", cl.clSetKernelArg(kernel, i + 1, Native.POINTER_SIZE, holding(buffers[i])));
    }
    PointerByReference event = new PointerByReference();
    check("clEnqueueNDRangeKernel", cl.clEnqueueNDRangeKernel(queue, kernel, 2, null, new long[] {N, N}, null, 0, null, event));
    check("clWaitForEvents", cl.clWaitForEvents(1, new Pointer[] {event.getValue()}));
    check("clEnqueueReadBuffer", cl.clEnqueueReadBuffer(queue, buffers[2], 1, 0, 4L * N * N, c, 0, null, null));

    long digest = 0;
    for (int y = 0; y < N; ++y) {
      for (int x = 0; x < N; ++x) {
        int sum = 0;
        for (int k = 0; k < N; ++k) sum += a.getInt(4L * (y * N + k)) * b.getInt(4L * (k * N + x));
        if (sum != c.getInt(4L * (y * N + x))) throw new IllegalStateException("wrong at " + y + ", " + x);
        digest = digest * 31 + sum;
      }
    }
    System.out.println("right: " + digest);
  }
}
