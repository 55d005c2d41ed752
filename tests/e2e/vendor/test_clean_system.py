"""A clean system after `cleave icd install`: every program's launches are split, without any environment variable.

The system is a root folder in a mount namespace. It has this machine's programs and libraries, and an /etc with one driver.
Without the rights for a namespace the test is skipped, with a line that says so.
"""

import json
import os
import shutil
import unittest
from pathlib import Path

from support.options import CLEAVE, OPTIONS, VENDOR, main, skip
from support.processes import run
from support.programs import RUN_TIMEOUT, ProgramTest, driver_icd

ENTER = Path(__file__).parent / "enter_root"
NAMESPACE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
NOBODY = 65534
SETTINGS = """[neighbours]
count = 5
[split]
min_items = 0
[observe]
stats = "/var/stats/%p.json"
"""


class CleanSystem(ProgramTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / self.id()
        vendors = self.root / "etc/OpenCL/vendors"
        vendors.mkdir(parents=True)
        shutil.copy2(driver_icd("pocl"), vendors)
        for name in ("ld.so.cache", "ld.so.conf", "passwd", "group"):
            shutil.copy2(Path("/etc") / name, self.root / "etc")
        shutil.copytree("/etc/ld.so.conf.d", self.root / "etc/ld.so.conf.d")
        (self.root / "etc/cleave").mkdir()
        (self.root / "etc/cleave/cleave.toml").write_text(SETTINGS)
        (self.root / "opt").mkdir()
        for file in (CLEAVE, VENDOR, OPTIONS.program[0]):
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
        """Runs a command in there, with an environment without any setting of Cleave or of drivers."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "POCL_CACHE_DIR": "/var/kernels"} | settings
        done = run(*NAMESPACE, ENTER, self.root, *command, environment=environment, timeout=RUN_TIMEOUT)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def statistics(self):
        """The statistics of the processes since the last call."""
        files = sorted(self.stats.iterdir())
        found = [json.loads(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        return found

    def install(self):
        self.inside("/opt/cleave", "icd", "install", "--library", "/opt/libcleave-icd.so")

    def test_launches_are_split_until_it_is_uninstalled(self):
        program = "/opt/" + Path(OPTIONS.program[0]).name
        native = self.inside(program)
        listed = self.inside("clinfo", "--list")
        self.assertEqual(self.statistics(), [])

        self.install()
        self.assertEqual([file.name for file in (self.root / "etc/OpenCL/vendors").iterdir()], ["cleave.icd"])
        self.assertEqual(self.inside("clinfo", "--list"), listed)
        self.statistics()
        self.assertEqual(self.inside(program), native)
        (stats,) = self.statistics()
        self.assertGreater(stats["launches"], 0)
        self.assertEqual(stats["split"], stats["launches"], stats)

        self.inside("/opt/cleave", "icd", "uninstall")
        self.assertEqual(self.inside("clinfo", "--list"), listed)
        self.assertEqual(self.inside(program), native)
        self.assertEqual(self.statistics(), [])

    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_launches_of_a_program_with_raised_privileges_are_split(self):
        program = self.root / "opt" / Path(OPTIONS.program[0]).name
        os.chown(program, NOBODY, NOBODY)
        program.chmod(0o4755)
        native = self.inside(f"/opt/{program.name}")
        self.install()
        self.assertEqual(self.inside(f"/opt/{program.name}"), native)
        (stats,) = self.statistics()
        self.assertGreater(stats["launches"], 0)
        self.assertEqual(stats["split"], stats["launches"], stats)


if __name__ == "__main__":
    done = run(*NAMESPACE, "sh", "-c", "mount -t tmpfs none /mnt")
    if done.returncode != 0:
        skip(f"no right to mount in a namespace: {done.stderr.strip()}")
    main()
