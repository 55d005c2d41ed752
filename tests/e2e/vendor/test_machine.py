"""A fresh system, in which `cleave icd install` is all that was done: every program is covered, with no environment.

The system is a root of its own in a mount namespace. What it has of this machine are programs and libraries; its /etc
holds one driver. Without the rights for a namespace the test is skipped, with a line that says so.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from compare import CLEAVE, DRIVERS, LIBRARIES, OPTIONS, ComparedTest, main, needed

ENTER = Path(__file__).parent / "enter_root"
NAMESPACE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
NOBODY = 65534
SKIPPED = 77  # what CMakeLists.txt tells ctest
SETTINGS = """[neighbours]
count = 5
[split]
min_items = 0
[observe]
stats = "/var/stats/%p.json"
"""


def skip_without_namespaces():
    command = [*NAMESPACE, "sh", "-c", "mount -t tmpfs none /mnt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"skipped for want of the right to mount in a namespace of one's own: {done.stderr.strip()}")
        sys.exit(SKIPPED)


class Machine(ComparedTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / self.id()
        vendors = self.root / "etc/OpenCL/vendors"
        vendors.mkdir(parents=True)
        shutil.copy2(needed(*DRIVERS["pocl"]), vendors)
        for name in ("ld.so.cache", "ld.so.conf", "passwd", "group"):
            shutil.copy2(Path("/etc") / name, self.root / "etc")
        shutil.copytree("/etc/ld.so.conf.d", self.root / "etc/ld.so.conf.d")
        (self.root / "etc/cleave").mkdir()
        (self.root / "etc/cleave/cleave.toml").write_text(SETTINGS)
        (self.root / "opt").mkdir()
        for file in (CLEAVE, LIBRARIES / "libcleave-icd.so", OPTIONS.program[0]):
            shutil.copy(file, self.root / "opt")
        self.stats = self.root / "var/stats"
        self.stats.mkdir(parents=True)
        self.stats.chmod(0o777)
        self.kernels = self.root / "var/kernels"
        self.kernels.mkdir()
        self.kernels.chmod(0o777)
        self.root.chmod(0o755)
        self.folder.chmod(0o755)

    def inside(self, *command, **settings):
        """Runs a command in there, with an environment that says nothing of Cleave or of drivers."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "POCL_CACHE_DIR": "/var/kernels"} | settings
        done = subprocess.run([*NAMESPACE, str(ENTER), str(self.root), *command], env=environment, capture_output=True,
                              text=True, timeout=self.patience, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def counted(self):
        """What the processes since the last call have counted."""
        files = sorted(self.stats.iterdir())
        found = [json.loads(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        return found

    def install(self):
        self.inside("/opt/cleave", "icd", "install", "--library", "/opt/libcleave-icd.so")

    def test_programs_run_split_until_it_is_uninstalled(self):
        program = "/opt/" + Path(OPTIONS.program[0]).name
        native = self.inside(program)
        listed = self.inside("clinfo", "--list")
        self.assertEqual(self.counted(), [])

        self.install()
        self.assertEqual([file.name for file in (self.root / "etc/OpenCL/vendors").iterdir()], ["cleave.icd"])
        ours = self.inside("clinfo", "--list").splitlines()
        self.assertEqual(ours, [listed.splitlines()[0] + " (Cleave)", *listed.splitlines()[1:]])
        self.counted()
        self.assertEqual(self.inside(program), native)
        (stats,) = self.counted()
        self.assertGreater(stats["launches"], 0)
        self.assertEqual(stats["split"], stats["launches"], stats)

        self.inside("/opt/cleave", "icd", "uninstall")
        self.assertEqual(self.inside("clinfo", "--list"), listed)
        self.assertEqual(self.inside(program), native)
        self.assertEqual(self.counted(), [])

    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_a_program_with_raised_privileges_runs_split(self):
        program = self.root / "opt" / Path(OPTIONS.program[0]).name
        os.chown(program, NOBODY, NOBODY)
        program.chmod(0o4755)
        native = self.inside(f"/opt/{program.name}")
        self.install()
        self.assertEqual(self.inside(f"/opt/{program.name}"), native)
        (stats,) = self.counted()
        self.assertGreater(stats["launches"], 0)
        self.assertEqual(stats["split"], stats["launches"], stats)


if __name__ == "__main__":
    skip_without_namespaces()
    main()
