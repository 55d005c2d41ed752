"""Functions called with wrong arguments return through a server what the server's driver returns, and write what it writes."""

import fnmatch

from support.options import OPTIONS, main, skip
from support.programs import is_pocl
from support.remote import RemoteTest

PROGRAM = OPTIONS.programs / "bad_arguments"

# Cases that end a native run on PoCL 3.1: what they read or write is not the program's, or the driver gives up. The last lines are
# sizes that the driver refuses before it reads so much, and the client does not.
CRASHES = (
    "clEnqueue*BufferRect host_row=half of all",
    "clEnqueue*Image row=half of all",
    "clEnqueueCopyBufferRect source=null*",
    "clEnqueueCopyBufferRect source=sub-buffer",
    "clEnqueueCopyBufferRect target=null*",
    "clEnqueueCopyBufferRect target=sub-buffer",
    "clEnqueueCopyImageToBuffer buffer=null*",
    "clEnqueueCopyImageToBuffer buffer=sub-buffer",
    "clEnqueueCopyBufferToImage buffer=sub-buffer",
    "clEnqueueNDRangeKernel kernel=null*",
    "clEnqueueNDRangeKernel waits=[1-9]*",
    "clEnqueueNDRangeKernel global=*",
    "clEnqueueNDRangeKernel offset=large",
    "clEnqueueNDRangeKernel offset=most",
    "clEnqueueTask kernel=null*",
    "clEnqueueTask waits=[1-9]*",
    "clEnqueueSVM* size=4097",
    "clEnqueueSVM* size=1M",
    "clEnqueueSVM* size=half of all",
    "clEnqueueSVM* size=all",
    "clEnqueueWaitForEvents*",
    "clCreateContextFromType (properties *) * type=*",
    "clCreateContextFromType (properties *) type=*",
    "clEnqueueSVMMemFill pattern=null*",
    "clCreateImage (desc 16*",
    "clCreateImage (desc 17*",
    "clCreateImage (desc 18*",
    "clCreateProgramWithSource strings=null*",
    "clCreateProgramWithSource lengths=most",
    "clCreateProgramWithSource (empty) strings=null*",
    "clCreateProgramWithSource (empty) lengths=most",
    "clCreateProgramWithBinary binaries=null*",
    "clCreateProgramWithBinary (null) binaries=null*",
    "clCreateProgramWithBuiltInKernels count=[2-7]",
    "clBuildProgram* count=[2-7]*",
    "clCompileProgram* count=[2-7]*",
    "clCompileProgram headers=[1-7]",
    "clCompileProgram (headers) options=null list=null*",
    "clCompileProgram (headers) options=null names=null*",
    "clCompileProgram (headers) headers=[1-7]",
    "clCompileProgram (headers) list=null*",
    "clCompileProgram (headers) names=null*",
    "clLinkProgram programs=[2-7]",
    "clLinkProgram (uncompiled) programs=[2-7]",
    "clGetContextInfo 0x1082*size_ret=null*",
    "clCreateProgramWithIL length=*",
    "clCreateProgramWithBinary* lengths=most",
    "clSetProgramSpecializationConstant size=half of all",
    "clSetProgramSpecializationConstant size=all",
    "clSetKernelExecInfo* size=half of all",
    "clSetKernelExecInfo* size=all",
)

# Further builds that succeed, which would take most of the test's time.
SLOW = (
    "clLinkProgram options=null*",
    "clBuildProgram (notify) program=unbuilt",
    "clBuildProgram (notify) options=null*",
    "clBuildProgram (notify) notify=null*",
    "clBuildProgram (with kernels) program=unbuilt",
    "clCompileProgram (headers) program=unbuilt",
    "clCompileProgram (headers) count=0 devices=null",
    "clCompileProgram (headers) headers=0 [ln]*",
    "clCompileProgram (headers) options=null headers=0",
)

# Cases that remain different.
DIFFERENT = (
    # PoCL takes images for buffers.
    "clEnqueue*Buffer buffer=image",
    # A handle that no object of the program's has: PoCL answers for a buffer what is left there.
    "clGetImageInfo (buffer) 0x1118*",
    # Addresses that wrap around, or pitches shorter than a row: the client lays the data out.
    "clEnqueue*BufferRect host_row=all",
    "clEnqueue*Image row=*",
    # Maps are the client's own: the driver maps nothing.
    "clEnqueueMap* flags=*",
    "clEnqueueMapImage region=no *",
    "clEnqueueSVMMap flags=*",
    "clEnqueueUnmapMemObject*",
    # Beyond the block, which the driver does not check; a list of null pointers.
    "clEnqueueSVMMigrateMem sizes=*",
    "clEnqueueSVMFree*",
    # Which of several errors comes first, and a driver that has no such function.
    "clSetDefaultDeviceCommandQueue*",
    "clSetProgramSpecializationConstant*",
    # Flags that forbid the host's access or name host memory do not reach the driver with the memory itself.
    "clCreateBuffer (flags *",
    "clCreateSubBuffer (of a write-only one) flags=*",
    "clSVMAlloc flags=*",
    # The pitches of contents do not reach the driver; sizes are checked before other arguments.
    "clCreateImage (desc *",
    "clCreateImage?D *=half of all",
    "clCreateImage?D *=all",
    # What is written although the call fails.
    "clCreateProgramWithBinary*",
    "clGetProgramInfo 0x1168*",
    "clGetProgramInfo (unbuilt) 0x1168*",
    # Lists of devices and of headers are checked here.
    "clBuildProgram (with kernels) count=*",
    "clCompileProgram (headers)*",
    "clLinkProgram count=*",
    "clCreateKernelsInProgram kernels=null*",
    "clCreateSubDevices *",
    "clGetDeviceIDs *",
    # PoCL accepts a pointer that is none, a sampler for a buffer, and an unknown name where nothing is written.
    "clSetKernelArg (0 sampler)*",
    "clSetKernelArg (2 *",
    "clSetKernelArgSVMPointer (of the host)*",
    "clSetKernelExecInfo*",
    "clSetUserEventStatus (a command's)*",
    "clGetEventProfilingInfo 0x127f*",
    "clGetEventProfilingInfo 0x1285 *value=null*",
    # Extensions that cannot be carried are left out.
    "clGetPlatformInfo 0x907*",
    "clGetDeviceInfo 0x1030*",
)


class BadArguments(RemoteTest):
    def test_results_are_the_drivers(self):
        skipped = self.folder / "skipped"
        skipped.write_text("".join(f"{pattern}\n" for pattern in CRASHES + SLOW))
        server = self.start_server("server")
        native = self.results(self.run_native(PROGRAM, skipped))
        remote = self.results(self.run_remotely("native", server.addresses["unix"], PROGRAM, skipped,
                                                CLEAVE_REMOTE_NAME="original"))
        self.assertEqual(list(native), list(remote))
        differences = [f"{case}: natively {result}, remotely {remote[case]}" for case, result in native.items()
                       if remote[case] != result
                       and not any(fnmatch.fnmatchcase(case, pattern) for pattern in DIFFERENT)]
        listed = sum(remote[case] != result for case, result in native.items()) - len(differences)
        print(f"{len(native)} cases, of which {listed} differ as listed")
        self.assertEqual(differences, [], f"{len(differences)} of {len(native)} cases differ")
        self.assertNoCrash(server)

    def results(self, run):
        self.assertEqual(run.status, 0, f"ended in {run.out.splitlines()[-1:]}\n{run.err}")
        return dict(line.split(": ", 1) for line in run.out.splitlines())


if __name__ == "__main__":
    if not is_pocl("3.1"):
        skip("which cases end a native run is listed for PoCL 3.1 alone")
    main()
