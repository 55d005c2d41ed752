"""The programs: where each comes from, how it is run, and what its results are. None of them is in this repository."""

from dataclasses import dataclass, field

# Words in commands and variables that stand for folders and programs of the machine: see `commands.py`.
#   {python}   the virtual environment's Python      {debian_python}  Debian's, with Debian's packages
#   {inputs}   the folder of our inputs              {sources}        the folder of unpacked source packages
#   {home}     the home folder of a series of runs   {loader}         the OpenCL loader that the way of loading uses


@dataclass(frozen=True)
class Program:
    """A program with one small input.

    `debian`, `pypi`: the packages that hold it; `sources`: PyPI's source packages, of which only the tests are used.
    `prepare`: commands that run once in a series of runs, in its home folder, without Cleave. `command` runs in an empty folder.
    `keep`: a regular expression; of standard output only what it matches is compared, line by line (everything by default;
    None: nothing). `results`: files that the command writes, compared byte by byte.
    `driver`: runs on that driver instead of the one asked for, because `driver_reason`.
    `exceptions`: kernels (shell patterns) that must stay unsplit, with the reason: they do not count in the share.
    """

    name: str
    command: tuple
    debian: tuple = ()
    pypi: tuple = ()
    sources: tuple = ()
    prepare: tuple = ()
    variables: dict = field(default_factory=dict)
    keep: str | None = ".*"
    results: tuple = ()
    driver: str | None = None
    driver_reason: str = ""
    exceptions: dict = field(default_factory=dict)


# Only versions that were measured: other ones have other kernels.
_PYOPENCL = ("pyopencl==2026.1.4", "mako==1.3.10")

PROGRAMS = (
    Program(
        name="hashcat",
        debian=("hashcat",),
        prepare=(("sh", "-c", "printf abcd | md5sum | cut -d' ' -f1 > hash"),),
        command=("hashcat", "-m", "0", "-a", "3", "{home}/hash", "?l?l?l?l", "--potfile-disable", "--logfile-disable",
                 "--quiet", "--force", "-o", "found"),
        results=("found",),
        keep=None,
    ),
    Program(
        name="tinygrad",
        pypi=("tinygrad==0.14.0", "numpy==2.4.6"),
        command=("{python}", "-W", "ignore", "{inputs}/tinygrad_net.py"),
        # It opens the loader by its full path, where LD_PRELOAD has no effect.
        variables={"OPENCL_PATH": "{loader}"},
    ),
    Program(
        name="silx",
        pypi=("silx==3.1.3", *_PYOPENCL),
        command=("{python}", "-W", "ignore", "{inputs}/silx_filters.py"),
    ),
    Program(
        name="PyOpenCL's tests",
        pypi=(*_PYOPENCL, "pytest==9.2.0"),
        sources=("pyopencl==2026.1.4",),
        command=("{python}", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--tb=no", "-W", "ignore",
                 "{sources}/pyopencl-2026.1.4/test/test_wrapper.py", "{sources}/pyopencl-2026.1.4/test/test_enqueue_copy.py",
                 "{sources}/pyopencl-2026.1.4/test/test_arrays_in_structs.py",
                 "{sources}/pyopencl-2026.1.4/test/test_clrandom.py"),
        keep=r"(PASSED|FAILED|ERROR|XFAIL|XPASS) \S+",
        exceptions={"sum": "it waits for a user event, and PoCL 3 ends the process if the event is set to an error and a command "
                           "fails whose event was released, as those of slices are (docs/conformance.md)"},
    ),
    Program(
        name="mandelbulber2",
        debian=("mandelbulber2",),
        command=("mandelbulber2", "--nogui", "--no-cli-color", "--format", "png", "--res", "64x48", "--output", "image.png",
                 "--override", "opencl_enabled=1#opencl_mode=3#opencl_device_type=3#opencl_platform=0#opencl_device_list=0",
                 "/usr/share/mandelbulber2/examples/IFS_001.fract"),
        variables={"QT_QPA_PLATFORM": "offscreen"},
        results=("image.png",),
        keep=None,
    ),
    Program(
        name="OpenCV",
        debian=("python3-opencv",),
        command=("{debian_python}", "{inputs}/opencv_filters.py"),
        variables={"OPENCV_OPENCL_DEVICE": "::0"},
    ),
    Program(
        name="OpenMM",
        pypi=("openmm==8.6.1", "numpy==2.4.6"),
        command=("{python}", "{inputs}/openmm_box.py"),
    ),
    Program(
        name="CLBlast",
        debian=("libclblast1", "python3-pyopencl"),
        command=("{debian_python}", "-W", "ignore", "{inputs}/clblast_routines.py"),
    ),
    Program(
        name="clFFT",
        debian=("libclfft2", "python3-pyopencl"),
        command=("{debian_python}", "-W", "ignore", "{inputs}/clfft_transforms.py"),
    ),
    Program(
        name="GEGL",
        debian=("gegl",),
        command=("gegl", "-o", "image.ppm", "--", "gegl:checkerboard", "x=16", "y=16", "gegl:crop", "width=256", "height=256",
                 "gegl:box-blur", "radius=4", "gegl:pixelize", "gegl:brightness-contrast", "contrast=1.2", "gegl:gaussian-blur",
                 "gegl:color-temperature", "gegl:snn-mean", "gegl:edge-sobel", "gegl:median-blur"),
        variables={"GEGL_USE_OPENCL": "cpu", "GEGL_THREADS": "1"},
        results=("image.ppm",),
        keep=None,
    ),
    Program(
        name="ffmpeg",
        debian=("ffmpeg",),
        command=("ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-init_hw_device", "opencl=device:0.0",
                 "-filter_hw_device", "device", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=5:duration=1", "-vf",
                 "format=yuv420p,hwupload,unsharp_opencl=lx=5:ly=5,avgblur_opencl=3,boxblur_opencl,dilation_opencl,"
                 "erosion_opencl,sobel_opencl,roberts_opencl,prewitt_opencl,transpose_opencl,convolution_opencl,"
                 "nlmeans_opencl=r=3:p=3,deshake_opencl,hwdownload,format=yuv420p", "-f", "framemd5", "-"),
    ),
    Program(
        name="x264",
        debian=("x264", "ffmpeg"),
        prepare=(("ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
                  "testsrc2=size=96x64:rate=25:duration=0.2", "-pix_fmt", "yuv420p", "-y", "video.y4m"),),
        # On Oclgrind its output differs from run to run natively: only the frames' number and times are compared.
        command=("sh", "-c", "x264 --opencl --opencl-clbin {home}/kernels.clbin --threads 1 --quiet -o video.264 {home}/video.y4m"
                             " && ffmpeg -nostdin -loglevel error -i video.264 -f framemd5 -"),
        keep=r"0(, *\d+){4}",
        driver="oclgrind",
        driver_reason="it uses GPUs only, and PoCL's devices are CPUs",
    ),
)
