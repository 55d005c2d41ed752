"""The guest's root: PoCL as it is installed here, Cleave's vendor library, and a program.

PoCL is its library, what that is linked with, its headers and kernels, and what its linker needs to make kernels of them.
"""

import glob
import platform
import re
from pathlib import Path

from initramfs import archive, libraries_of, without_debugging

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TRIPLET = f"{platform.machine()}-linux-gnu"
SETTINGS = b"""[neighbours]
source = "file:/run/cleave/vms"
[split]
min_items = 0
"""
# As Debian lays them out; globs, since their versions are in their names.
POCL = [f"/usr/lib/{TRIPLET}/libpocl.so.*", f"/usr/lib/{TRIPLET}/pocl/*.so", "/usr/bin/ld"]
DATA = [
    "/usr/share/pocl/**/*",
    f"/lib/{TRIPLET}/libmvec.so.1",
    f"/usr/lib/{TRIPLET}/lib[cm].so",
    f"/usr/lib/{TRIPLET}/libc_nonshared.a",
    f"/usr/lib/gcc/{TRIPLET}/*/libgcc.a",
    f"/usr/lib/gcc/{TRIPLET}/*/libgcc_s.so",
    f"/usr/lib/gcc/{TRIPLET}/*/crt*.o",
]
DRIVER = Path("/etc/OpenCL/vendors/pocl.icd")
MODULES = re.compile(r"virtio_(ring|pci.*|console)\.ko|virtio\.ko")


def found(patterns):
    return [Path(name) for pattern in patterns for name in sorted(glob.glob(pattern, recursive=True)) if Path(name).is_file()]


def below(path):
    return str(path).lstrip("/")


def guest(build, folder):
    """The archive's bytes. `folder` has the kernel's modules and busybox (tests/e2e/domains/fetch_guest)."""
    programs = {
        "steady": build / "bench/steady",
        "cleave/bin/cleave": build / "bin/cleave",
        "cleave/lib/libcleave-icd.so": build / "lib/libcleave-icd.so",
    }
    pocl = found(POCL)
    files = {
        "init": (HERE / "init").read_bytes(),
        "bin/busybox": (folder / "busybox").read_bytes(),
        "follow_port": (ROOT / "monitor/follow_port").read_bytes(),
        "etc/cleave/cleave.toml": SETTINGS,
        below(DRIVER): DRIVER.read_bytes(),
    }
    files |= {name: without_debugging(program) for name, program in programs.items()}
    files |= libraries_of(*programs.values(), *pocl)
    files |= {below(path): path.read_bytes() for path in (*pocl, *found(DATA))}
    files |= {f"modules/{file.name}": file.read_bytes() for file in (folder / "modules").iterdir() if MODULES.fullmatch(file.name)}
    return archive(files)
