"""The installed units: systemd accepts them, the files that they name are installed, and the server works under its unit's
restrictions."""

import os
import pathlib
import re
import shlex
import socket
import tempfile
import unittest

from confinement import Confined, missing_confinement
from support import processes
from support.options import OPTIONS, main
from support.processes import clean_environment

BUILD, PROGRAM, PREFIX = OPTIONS.build, OPTIONS.program[0], OPTIONS.prefix
DAEMONS = [name for name in ("cleave-monitord", "cleave-serverd") if (BUILD / "bin" / name).is_file()]
MISSING_CONFINEMENT = missing_confinement()
NEEDED_FAMILIES = {"AF_UNIX", "AF_INET", "AF_INET6", "AF_VSOCK"}
# Of 100, as systemd counts. Drivers in the server need the GPU's device files and code generated at run time, and its workers'
# sandboxes namespaces, which count for more than what is behind them.
MOST_EXPOSED = {"cleave-monitord": 20, "cleave-serverd": 50}


def run(*command, **changes):
    """Returns the exit status and all output."""
    done = processes.run(*command, environment=clean_environment(**changes))
    return done.returncode, done.stdout + done.stderr


class Unit:
    """A unit's file: for each key all of its values, in order, by section."""

    def __init__(self, path):
        self.sections, section = {}, None
        for line in path.read_text().replace("\\\n", " ").splitlines():
            if line.startswith("["):
                section = self.sections.setdefault(line.strip("[]"), {})
            elif line and not line.startswith(("#", ";")):
                key, _, value = line.partition("=")
                section.setdefault(key, []).append(value)

    def __getitem__(self, key):
        """The last value of the service's, or None."""
        return self.sections["Service"].get(key, [None])[-1]

    def words(self, key):
        return " ".join(self.sections["Service"].get(key, [])).split()

    def environment(self):
        pairs = shlex.split(" ".join(self.sections["Service"].get("Environment", [])).replace("%C", "/var/cache"))
        return dict(pair.split("=", 1) for pair in pairs)

    def command(self):
        """As systemd would run it: a variable as a word of its own becomes several words."""
        words = []
        for word in self["ExecStart"].split():
            words += self.environment()[word[1:]].split() if word.startswith("$") else [word]
        return words


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cleave-units-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.root = cls.folder / "root"
        status, output = run(OPTIONS.cmake, "--install", BUILD, DESTDIR=cls.root)
        if status != 0:
            raise AssertionError(output)
        cls.prefix = cls.root / PREFIX.relative_to("/")
        cls.places = {name: cls.prefix / f"lib/systemd/system/{name}.service" for name in DAEMONS}
        cls.units = {name: Unit(place) for name, place in cls.places.items()}

    def in_place(self, name):
        """A copy whose command has its present path, next to the units that it requires."""
        copies = self.folder / "copies"
        copies.mkdir(exist_ok=True)
        for file in self.places[name].parent.iterdir():
            text = re.sub(f"(?m)^ExecStart={PREFIX}", f"ExecStart={self.prefix}", file.read_text())
            (copies / file.name).write_text(text)
        return copies / self.places[name].name

    def test_units_are_valid(self):
        for name in self.units:
            with self.subTest(name):
                _, output = run("systemd-analyze", "verify", "--man=no", self.in_place(name))
                self.assertEqual([line for line in output.splitlines() if name in line], [])

    def test_hardening_is_rated_well(self):
        for name in self.units:
            with self.subTest(name):
                status, output = run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED[name]}",
                                   self.in_place(name))
                self.assertEqual(status, 0, output)

    def test_files_that_they_name_are_installed(self):
        for name, unit in self.units.items():
            with self.subTest(name):
                daemon = pathlib.Path(unit.command()[0])
                self.assertEqual(daemon, PREFIX / "bin" / name)
                self.assertTrue(os.access(self.root / daemon.relative_to("/"), os.X_OK), daemon)
                for manual in re.findall(r"man:(\S+)\((\d)\)", unit.sections["Unit"]["Documentation"][0]):
                    self.assertTrue((self.prefix / f"share/man/man{manual[1]}/{manual[0]}.{manual[1]}").is_file(), manual)
                for other in unit.sections["Install"].get("Also", []):
                    self.assertTrue((self.places[name].parent / other).is_file(), other)

    def options_of(self, name):
        return set(re.findall(r"(?m)^ +(?:-\w,)?(--[a-z-]+)", run(self.prefix / "bin" / name, "--help")[1]))

    def test_options_exist_in_the_program_and_in_its_manual(self):
        for name, unit in self.units.items():
            with self.subTest(name):
                known = self.options_of(name)
                self.assertLessEqual({"--listen", "--help", "--version"}, known)
                self.assertLessEqual({word for word in unit.command() if word.startswith("--")}, known)
                manual = (self.prefix / f"share/man/man8/{name}.8").read_text()
                self.assertEqual(set(re.findall(r"(?<!\w)Fl -([a-z-]+)", manual)), {word[2:] for word in known})

    def test_required_rights_are_kept(self):
        for name, unit in self.units.items():
            with self.subTest(name):
                self.assertLessEqual(NEEDED_FAMILIES, set(unit.words("RestrictAddressFamilies")))
                self.assertEqual(unit["RestartPreventExitStatus"], "2")
                self.assertEqual(unit["NoNewPrivileges"], "yes")
                self.assertEqual(unit["CapabilityBoundingSet"], "")

    @unittest.skipUnless("cleave-monitord" in DAEMONS, "built without the daemon")
    def test_monitor_survives_what_its_libraries_try(self):
        """libnuma, which libvirt brings along, makes a system call that the unit refuses."""
        self.assertEqual(self.units["cleave-monitord"]["SystemCallErrorNumber"], "EPERM")

    @unittest.skipUnless("cleave-serverd" in DAEMONS, "built without the remote backend")
    def test_groups_of_the_server_are_made(self):
        """It does not start where one is missing."""
        made = re.findall(r"(?m)^g (\w+) -$", (self.prefix / "lib/sysusers.d/cleave-serverd.conf").read_text())
        self.assertEqual(made, self.units["cleave-serverd"].words("SupplementaryGroups"))

    @unittest.skipUnless("cleave-serverd" in DAEMONS, "built without the remote backend")
    def test_server_keeps_the_rights_that_drivers_need(self):
        unit = self.units["cleave-serverd"]
        for key in ("PrivateDevices", "MemoryDenyWriteExecute", "PrivateNetwork", "PrivateUsers", "DevicePolicy",
                    "SystemCallFilter", "ProcSubset", "NoExecPaths"):
            self.assertIsNone(unit[key], key)
        self.assertIn("AF_NETLINK", unit.words("RestrictAddressFamilies"))  # udev's, and the resolver's
        self.assertLessEqual({"video", "render"}, set(unit.words("SupplementaryGroups")))
        # So do workers' sandboxes: namespaces, a /proc that is wholly visible, and control groups.
        for key in ("RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectControlGroups",
                    "ProtectHostname", "ProtectProc"):
            self.assertIsNone(unit[key], key)
        self.assertEqual(set(unit.words("Delegate")), {"cpu", "memory", "pids"})
        self.assertGreaterEqual(int(unit["LimitNOFILE"]), 4096)
        # The unit leaves it to the file, or to a .socket unit, where to listen. The default is in what it may write to.
        self.assertEqual(len(unit.command()), 1)
        self.assertEqual(unit.environment()["HOME"], f"/var/cache/{unit['CacheDirectory']}")

    def notification(self, ready, server):
        while server.process.poll() is None:
            try:
                return ready.recv(100)
            except TimeoutError:
                pass
        return None

    @unittest.skipUnless("cleave-serverd" in DAEMONS, "built without the remote backend")
    @unittest.skipUnless(PREFIX.is_dir(), f"{PREFIX} is where it would be, and is not there")
    @unittest.skipIf(MISSING_CONFINEMENT, f"no confinement: {MISSING_CONFINEMENT}")
    def test_server_works_under_the_units_restrictions(self):
        native = run(PROGRAM, "64", "1")[1].split("checksum=")[1]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            name = f"cleave-units-{os.getpid()}"
            ready.bind(f"\0{name}")
            ready.settimeout(1)
            with Confined(self.units["cleave-serverd"], self.folder / "confined", self.prefix, PREFIX,
                          NOTIFY_SOCKET=f"@{name}") as server:
                self.assertEqual(self.notification(ready, server), b"READY=1", server.log.read_text())
                done = run(BUILD / "bin/cleave", "run", "--remote", f"unix:{server.runtime / 'server.sock'}", "--", PROGRAM,
                           "64", "1", OCL_ICD_VENDORS=os.devnull)
                self.assertIn("checksum=", done[1], server.log.read_text())
                self.assertEqual(done[1].split("checksum=")[1], native, server.log.read_text())
                self.assertEqual(list(server.runtime.glob("clients.*"))[0].read_text(), "1\n")
            self.assertIn(" connected (process ", server.log.read_text())
            self.assertNotIn("workers have no sandbox", server.log.read_text())
            self.assertEqual(list(server.runtime.iterdir()), [], "it leaves files behind")
            print(f"not checked: {' '.join(sorted(server.unknown))}")


if __name__ == "__main__":
    main()
