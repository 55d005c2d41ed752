"""The installed units: systemd understands them, what they name is installed, and the server does its work under what its
unit takes from it.

usage: test_units.py CMAKE BUILD_FOLDER PROGRAM PREFIX
"""

import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import unittest

from confined import Confined, why_not

CMAKE, BUILD, PROGRAM, PREFIX = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
PATIENCE = 60  # seconds
DAEMONS = [name for name in ("cleave-monitord", "cleave-serverd") if (BUILD / "bin" / name).is_file()]
WHY_NOT = why_not()
NEEDED_FAMILIES = {"AF_UNIX", "AF_INET", "AF_INET6", "AF_VSOCK"}
# Of 100, as systemd counts. The server has to leave drivers the GPU's device files and code that is made while it runs.
MOST_EXPOSED = {"cleave-monitord": 20, "cleave-serverd": 40}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          **options)
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
        """As systemd would call it: a variable of its own becomes several words."""
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
        status, said = run(CMAKE, "--install", BUILD, env={**os.environ, "DESTDIR": str(cls.root)})
        if status != 0:
            raise AssertionError(said)
        cls.prefix = cls.root / PREFIX.relative_to("/")
        cls.places = {name: cls.prefix / f"lib/systemd/system/{name}.service" for name in DAEMONS}
        cls.units = {name: Unit(place) for name, place in cls.places.items()}

    def in_place(self, name):
        """A copy whose command is where it is now, beside the units that it asks for."""
        copies = self.folder / "copies"
        copies.mkdir(exist_ok=True)
        for file in self.places[name].parent.iterdir():
            text = re.sub(f"(?m)^ExecStart={PREFIX}", f"ExecStart={self.prefix}", file.read_text())
            (copies / file.name).write_text(text)
        return copies / self.places[name].name

    def test_systemd_understands_them(self):
        for name in self.units:
            with self.subTest(name):
                _, said = run("systemd-analyze", "verify", "--man=no", self.in_place(name))
                self.assertEqual([line for line in said.splitlines() if name in line], [])

    def test_systemd_thinks_well_of_their_hardening(self):
        for name in self.units:
            with self.subTest(name):
                status, said = run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED[name]}",
                                   self.in_place(name))
                self.assertEqual(status, 0, said)

    def test_what_they_name_is_installed(self):
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

    def test_options_are_those_of_the_program_and_of_its_manual(self):
        for name, unit in self.units.items():
            with self.subTest(name):
                known = self.options_of(name)
                self.assertLessEqual({"--listen", "--help", "--version"}, known)
                self.assertLessEqual({word for word in unit.command() if word.startswith("--")}, known)
                manual = (self.prefix / f"share/man/man8/{name}.8").read_text()
                self.assertEqual(set(re.findall(r"(?<!\w)Fl -([a-z-]+)", manual)), {word[2:] for word in known})

    def test_they_leave_what_is_needed(self):
        for name, unit in self.units.items():
            with self.subTest(name):
                self.assertLessEqual(NEEDED_FAMILIES, set(unit.words("RestrictAddressFamilies")))
                self.assertEqual(unit["RestartPreventExitStatus"], "2")
                self.assertEqual(unit["NoNewPrivileges"], "yes")
                self.assertEqual(unit["CapabilityBoundingSet"], "")

    @unittest.skipUnless("cleave-serverd" in DAEMONS, "built without the remote backend")
    def test_the_server_keeps_what_drivers_need(self):
        unit = self.units["cleave-serverd"]
        for key in ("PrivateDevices", "MemoryDenyWriteExecute", "PrivateNetwork", "PrivateUsers", "DevicePolicy",
                    "SystemCallFilter", "ProcSubset", "NoExecPaths"):
            self.assertIsNone(unit[key], key)
        self.assertIn("AF_NETLINK", unit.words("RestrictAddressFamilies"))  # udev's, and the resolver's
        self.assertLessEqual({"video", "render"}, set(unit.words("SupplementaryGroups")))
        self.assertGreaterEqual(int(unit["LimitNOFILE"]), 4096)
        # Where it listens, and where it keeps things, is what it may write to.
        self.assertIn(f"unix:/run/{unit['RuntimeDirectory']}/server.sock", unit.command())
        self.assertEqual(unit.environment()["HOME"], f"/var/cache/{unit['CacheDirectory']}")

    def heard(self, ready, server):
        while server.process.poll() is None:
            try:
                return ready.recv(100)
            except TimeoutError:
                pass
        return None

    @unittest.skipUnless("cleave-serverd" in DAEMONS, "built without the remote backend")
    @unittest.skipUnless(PREFIX.is_dir(), f"{PREFIX} is where it would be, and is not there")
    @unittest.skipIf(WHY_NOT, f"no confinement: {WHY_NOT}")
    def test_the_server_works_under_what_the_unit_takes(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEAVE_", "POCL_"))}
        native = run(PROGRAM, "64", "1", env=environment)[1].split("checksum=")[1]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            name = f"cleave-units-{os.getpid()}"
            ready.bind(f"\0{name}")
            ready.settimeout(1)
            with Confined(self.units["cleave-serverd"], self.folder / "confined", self.prefix, PREFIX,
                          NOTIFY_SOCKET=f"@{name}") as server:
                self.assertEqual(self.heard(ready, server), b"READY=1", server.log.read_text())
                done = run(BUILD / "bin/cleave", "run", "--remote", f"unix:{server.runtime / 'server.sock'}", "--", PROGRAM,
                           "64", "1", env={**environment, "OCL_ICD_VENDORS": os.devnull})
                self.assertIn("checksum=", done[1], server.log.read_text())
                self.assertEqual(done[1].split("checksum=")[1], native, server.log.read_text())
                self.assertEqual(list(server.runtime.glob("clients.*"))[0].read_text(), "1\n")
            self.assertIn(" came (process ", server.log.read_text())
            self.assertEqual(list(server.runtime.iterdir()), [], "it leaves files behind")
            print(f"not checked: {' '.join(sorted(server.unknown))}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
