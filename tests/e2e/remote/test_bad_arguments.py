"""Functions called with wrong arguments return through a server what the server's driver returns, and write what it writes."""

import fnmatch
import os
import re
from dataclasses import dataclass

from support.options import OPTIONS, main
from support.programs import driver_icd, is_pocl
from support.remote import RemoteTest

PROGRAM = OPTIONS.programs / "bad_arguments"

# Intel's runtime, as OCL_ICD_VENDORS takes it: a folder with an .icd file that names libintelocl.so (tests/fuzz/README.md).
INTEL = os.environ.get("CLEAVE_TEST_INTEL")

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
    "clCreateImage (desc [1245] with host memory)*",
    "clCreateImage (desc 1[015] with host memory)*",
    "clCreateImage (desc 8*",
    "clCreateImage (desc 19 with host memory)*",
    "clCreateImage (desc 20 with host memory)*",
    "clCreateImage?D *=half of all",
    "clCreateImage?D *=all",
    # What is written although the call fails, or although there are no names.
    "clGetProgramInfo 0x1168*",
    "clGetProgramInfo (unbuilt) 0x1168*",
    # Lists of devices and of headers are checked here.
    "clCompileProgram (headers) headers=0",
    "clLinkProgram count=[347]",
    # PoCL wants no room then.
    "clCreateSubDevices (423[01] *) devices=null",
    "clGetDeviceIDs devices=null",
    "clGetDeviceIDs platform=null devices=null",
    # PoCL accepts a pointer that is none, a sampler for a buffer, and an unknown name where nothing is written.
    "clSetKernelArg (0 sampler)*",
    "clSetKernelArg (2 sampler) index=0",
    "clSetKernelArg (2 *) size=1M",
    "clSetKernelArg (2 *) size=half of all",
    "clSetKernelArg (2 *) size=all",
    "clSetKernelArgSVMPointer (of the host)",
    "clSetKernelArgSVMPointer (of the host) kernel=other",
    "clSetKernelExecInfo* value=null",
    "clSetKernelExecInfo size=[1-9]*",  # what is behind the list is null, or no block
    "clSetKernelExecInfo (system) size=1M",
    "clSetUserEventStatus (a command's) status=[123]",
    # Extensions that cannot be carried are left out.
    "clGetPlatformInfo 0x907*",
    "clGetDeviceInfo 0x1030*",
)


@dataclass
class Driver:
    """What is left out, what may differ, and what of a result is not compared (regular expressions)."""

    parts: str
    skipped: tuple = ()
    different: tuple = ()
    not_compared: tuple = ()


POCL = Driver("commands objects queries", CRASHES + SLOW, DIFFERENT)

# These two write sizes although they fail. Commands and objects are left out: what natively reads or writes beyond its memory
# there ends the process, or leaves the driver so that the next calls hang, in other cases each time.
OCLGRIND = Driver(
    "queries",
    # Functions that OpenCL 1.2 does not have call themselves without end.
    ("clGetKernelSubGroupInfo*", "clGetHostTimer*", "clGetDeviceAndHostTimer*"),
    (
        "clGetDeviceInfo 0x1030*",
        "clGetPlatformInfo 0x905*",  # a device of OpenCL 1.2 has no timers
        "clGetImageInfo (buffer) 0x1118*",
        # It has times of commands on any queue, and none of OpenCL 2.
        "clGetEventProfilingInfo (without) 0x12*",
        "clGetEventProfilingInfo 0x1284*",
        "clGetDeviceIDs devices=null number=null",
        # No room for a value, and nowhere to write its size: it has no error.
        "clGet* value=null size_ret=null",
    ),
    (r"(?<=^-30) size \d+",),
)
INTEL_RUNTIME = Driver(
    "queries",
    (),
    (
        "clGetDeviceInfo 0x1030*",
        "clGetPlatformInfo 0x907*",
        "clGetImageInfo (buffer) 0x111*",
        "clGetImageInfo * value=null size_ret=null",
        # Refusals in another order than PoCL's, and less room than sub-devices is a failure of its own.
        "clCreateSubDevices * devices=null number=null",
        "clCreateSubDevices (4230 1) entries=1",
        "clGetProgramBuildInfo unbuilt 0x1185*",
        # As many as there is room for, not as there are.
        "clGetSupportedImageFormats*",
    ),
    # What is behind a text in the program's memory is overwritten. An uninitialised size.
    (r"(?<=^-30) size \d+", r"(?<=^-36) size \d+", r" values \d+"),
)


class BadArguments(RemoteTest):
    def test_results_are_pocls(self):
        if not is_pocl("3.1"):
            self.skipTest("which cases end a native run is listed for PoCL 3.1 alone")
        self.compare(POCL, driver_icd("pocl"))

    def test_results_are_oclgrinds(self):
        self.compare(OCLGRIND, driver_icd("oclgrind"))

    def test_results_are_intels(self):
        if INTEL is None:
            self.skipTest("CLEAVE_TEST_INTEL does not name Intel's runtime")
        self.compare(INTEL_RUNTIME, INTEL)

    def test_released_handles_are_invalid(self):
        """Natively such calls may end the process: the client's handles are its own, and it knows which have been released."""
        server = self.start_server(self.own_folder().name)
        results = self.results(self.run_remotely(
            "native", server.addresses["unix"], PROGRAM, self.skip(("clEnqueueSVMFree list*",)), "released commands objects queries"))
        released = {case: result for case, result in results.items() if "=released" in case}
        self.assertGreater(len(released), 200)
        for case, result in released.items():
            expected = re.search(r"\((-\d+)\)$", case)[1]
            if case.startswith("clSVM"):
                self.assertEqual(result, "null", case)
            else:
                # In a list that is waited for at once an event is an invalid one, in any other the list is.
                self.assertRegex(result, rf"^(null error )?({expected}{'|-58' if expected == '-57' else ''})$", case)
        self.assertNoCrash(server)

    def compare(self, driver, icd):
        server = self.start_server(self.own_folder().name, environment=self.environment(OCL_ICD_VENDORS=icd))
        native = self.results(self.run_native(PROGRAM, self.skip(driver.skipped), driver.parts, OCL_ICD_VENDORS=icd))
        crashes = [case for case, result in native.items() if result == "crash"]
        native = {case: result for case, result in native.items() if result != "crash"}
        remote = self.results(self.run_remotely(
            "native", server.addresses["unix"], PROGRAM, self.skip([*driver.skipped, *crashes]), driver.parts,
            CLEAVE_PLATFORM_NAMES="original"))
        self.assertEqual(list(native), list(remote))

        def compared(result):
            for pattern in driver.not_compared:
                result = re.sub(pattern, "", result)
            return result

        different = [case for case, result in native.items() if compared(result) != compared(remote[case])]
        unlisted = [f"{case}: natively {native[case]}, remotely {remote[case]}" for case in different
                    if not any(fnmatch.fnmatchcase(case, pattern) for pattern in driver.different)]
        print(f"{len(native)} cases, of which {len(different) - len(unlisted)} differ as listed")
        self.assertEqual(unlisted, [], f"{len(unlisted)} of {len(native)} cases differ")
        self.assertNoCrash(server)

    def skip(self, patterns):
        file = self.own_folder() / "skipped"
        file.write_text("".join(f"{pattern}\n" for pattern in patterns))
        return file

    def results(self, run):
        self.assertEqual(run.status, 0, f"ended in {run.out.splitlines()[-1:]}\n{run.err}")
        return dict(line.split(": ", 1) for line in run.out.splitlines())


if __name__ == "__main__":
    main()
