"""Base of the tests of `cleave icd`: a small system below a temporary folder, and a snapshot of it."""

import hashlib
import os
import shutil
import signal
import stat

from support.options import CLEAVE, OPTIONS, VENDOR
from support.processes import FolderTest, run

LIBRARY = "/usr/lib/libcleave-icd.so"
LONG_AGO = 1_000_000_007_123_456_789  # nanoseconds since 1970


def attributes_of(path):
    """The attributes of a file, link or folder, but for those that reading changes."""
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    attributes = {
        "mode": oct(status.st_mode),
        "owner": (status.st_uid, status.st_gid),
        "time": status.st_mtime_ns,
        "file": status.st_ino,
        "extended": [(name, os.getxattr(path, name, follow_symlinks=False)) for name in os.listxattr(path, follow_symlinks=False)],
    }
    if kind == stat.S_IFLNK:
        attributes["leads to"] = os.readlink(path)
    if kind == stat.S_IFREG:
        attributes["holds"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return attributes


class SystemTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.opencl = self.root / "etc/OpenCL"
        self.vendors = self.opencl / "vendors"
        self.wrapped = self.opencl / "vendors.cleave"
        self.registration = self.vendors / "cleave.icd"
        self.vendors.mkdir(parents=True)
        (self.root / "usr/lib").mkdir(parents=True)
        shutil.copy(VENDOR, self.root / "usr/lib")

    def driver(self, name, text="libdriver.so.1\n", mode=0o644, time=LONG_AGO):
        file = self.vendors / name
        file.write_text(text)
        file.chmod(mode)
        os.utime(file, ns=(time, time))
        return file

    def age(self):
        """Makes the folders older than the test, so that every change of their times is noticed."""
        for number, folder in enumerate((self.vendors, self.opencl)):
            os.utime(folder, ns=(LONG_AGO + number, LONG_AGO + number))

    def snapshot(self, without_times_of=()):
        """The attributes of everything below the root, by name."""
        found = {str(path): attributes_of(path) for path in [self.root, *self.root.rglob("*")]}
        for path in without_times_of:
            del found[str(path)]["time"]
        return found

    def icd(self, action, *words, fault=None, library=LIBRARY, **others):
        """Runs `cleave icd ACTION` on this root to its end, also where the test's user is not root."""
        command = [str(CLEAVE), "icd", action, "--root", str(self.root)]
        command += ["--library", library] if action == "install" and library else []
        command += ["--apply"] if action != "status" and "--dry-run" not in words else []
        environment = dict(os.environ)
        if fault:
            environment |= {"LD_PRELOAD": str(OPTIONS.programs / "fault_injection.so"), "INJECT_FAULT": fault}
        return run(*command, *words, environment=environment, **others)

    def succeed(self, action, *words, **others):
        done = self.icd(action, *words, **others)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refuse(self, action, *words, **others):
        """Refuses with one line, and changes nothing. Returns the line."""
        before = self.snapshot()
        done = self.icd(action, *words, **others)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"\Acleave: [^\n]+\n\Z")
        self.assertEqual(self.snapshot(), before)
        return done.stderr

    def assertEachDriverOnce(self, drivers):
        """A program that starts now finds each driver once: unwrapped, or wrapped by Cleave."""
        def names(folder):
            return [path.name for path in folder.glob("*.icd")] if folder.exists() else []

        wrapped = names(self.wrapped)
        unwrapped = [name for name in names(self.vendors) if name != "cleave.icd"]
        self.assertEqual(sorted(wrapped + unwrapped), sorted(drivers))
        if wrapped:
            self.assertEqual(self.registration.read_text(), LIBRARY + "\n")


def was_killed(done):
    return done.returncode == -signal.SIGKILL
