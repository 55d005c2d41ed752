"""A small system of its own below a temporary folder, and all that can be seen of it."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from compare import CLEAVE, LIBRARIES, OPTIONS

LIBRARY = "/usr/lib/libcleave-icd.so"
LONG_AGO = 1_000_000_007_123_456_789  # nanoseconds since 1970


def seen(path):
    """What can be seen of a file, link or folder, but for the times that looking at it changes."""
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    facts = {
        "mode": oct(status.st_mode),
        "owner": (status.st_uid, status.st_gid),
        "time": status.st_mtime_ns,
        "file": status.st_ino,
        "extended": [(name, os.getxattr(path, name, follow_symlinks=False)) for name in os.listxattr(path, follow_symlinks=False)],
    }
    if kind == stat.S_IFLNK:
        facts["leads to"] = os.readlink(path)
    if kind == stat.S_IFREG:
        facts["holds"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return facts


class SystemTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-icd-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "root"
        self.opencl = self.root / "etc/OpenCL"
        self.vendors = self.opencl / "vendors"
        self.wrapped = self.opencl / "vendors.cleave"
        self.registration = self.vendors / "cleave.icd"
        self.vendors.mkdir(parents=True)
        (self.root / "usr/lib").mkdir(parents=True)
        shutil.copy(LIBRARIES / "libcleave-icd.so", self.root / "usr/lib")

    def driver(self, name, text="libdriver.so.1\n", mode=0o644, time=LONG_AGO):
        file = self.vendors / name
        file.write_text(text)
        file.chmod(mode)
        os.utime(file, ns=(time, time))
        return file

    def age(self):
        """The folders are older than the test, so that every change of their times is seen."""
        for number, folder in enumerate((self.vendors, self.opencl)):
            os.utime(folder, ns=(LONG_AGO + number, LONG_AGO + number))

    def tree(self, without_times_of=()):
        """All that can be seen below the root, by name."""
        found = {str(path): seen(path) for path in [self.root, *self.root.rglob("*")]}
        for path in without_times_of:
            del found[str(path)]["time"]
        return found

    def icd(self, action, *words, interruption=None, library=LIBRARY, **others):
        """Runs `cleave icd ACTION` on this root to its end, also where the test's user is not root."""
        command = [str(CLEAVE), "icd", action, "--root", str(self.root)]
        command += ["--library", library] if action == "install" and library else []
        command += ["--apply"] if action != "status" and "--dry-run" not in words else []
        environment = dict(os.environ)
        if interruption:
            environment |= {"LD_PRELOAD": str(OPTIONS.programs / "interruption.so"), "INTERRUPTION": interruption}
        return subprocess.run(
            [*command, *map(str, words)], env=environment, capture_output=True, text=True, timeout=60, check=False, **others
        )

    def succeed(self, action, *words, **others):
        done = self.icd(action, *words, **others)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refuse(self, action, *words, **others):
        """Refuses with one line, and changes nothing. Gives the line."""
        before = self.tree()
        done = self.icd(action, *words, **others)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"\Acleave: [^\n]+\n\Z")
        self.assertEqual(self.tree(), before)
        return done.stderr

    def assertEachDriverOnce(self, drivers):
        """A program that starts now finds each driver, and each once: as it is, or through Cleave."""
        def names(folder):
            return [path.name for path in folder.glob("*.icd")] if folder.exists() else []

        through = names(self.wrapped)
        natively = [name for name in names(self.vendors) if name != "cleave.icd"]
        self.assertEqual(sorted(through + natively), sorted(drivers))
        if through:
            self.assertEqual(self.registration.read_text(), LIBRARY + "\n")


def was_killed(done):
    return done.returncode == -signal.SIGKILL
