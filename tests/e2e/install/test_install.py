"""The installed tree works as the build tree does, and other projects find it by pkg-config and by CMake."""

import fnmatch
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support.options import OPTIONS, main
from support.processes import clean_environment, run

BUILD, PROGRAM = OPTIONS.build, OPTIONS.program[0]
SOURCES = pathlib.Path(__file__).absolute().parents[3]
# The one place for it; packaging/release writes the others.
VERSION = re.search(r"(?m)^project\(cleave VERSION (\S+) ", (SOURCES / "CMakeLists.txt").read_text())[1]

# What decides whether all of Cleave was built: CMake's options, and packages that may be missing.
EVERYTHING = ("bin/cleave-monitord", "bin/cleave-serverd", "lib/libcleave-spank.so")

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(Cleave @VERSION@ REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE Cleave::headers)
foreach(file IN LISTS Cleave_DROP_IN Cleave_LAYER Cleave_COMMAND)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} is not there")
  endif()
endforeach()
"""
SOURCE = """
#include <cleave/cleave.h>
int main(void) { clGetCleaveInfo_fn info = 0; return info != 0 || CL_CLEAVE_VERSION != 0x4C00; }
"""


def output(*command, **changes):
    """Runs a command that must succeed."""
    done = run(*command, environment=clean_environment(**changes), timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cleave-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        output(OPTIONS.cmake, "--install", BUILD, "--prefix", cls.prefix)

    def checksum(self, *prefix, **changes):
        """Of the program's result, and the process."""
        done = output(*prefix, PROGRAM, "64", "1", **changes)
        return done.stdout.split("checksum=")[1], done

    def test_command_splits_a_programs_launches(self):
        native, _ = self.checksum()
        split, done = self.checksum(self.prefix / "bin/cleave", "run", "--policy", "fixed:3", "--stats", "--")
        self.assertEqual(split, native)
        self.assertIn("cleave: multiply         2         2         6", done.stderr)

    def test_version_is_the_same_everywhere(self):
        for program in ("cleave", "cleave-monitord", "cleave-serverd"):
            if (self.prefix / "bin" / program).exists():
                self.assertEqual(output(self.prefix / "bin" / program, "--version").stdout, f"{program} {VERSION}\n")
        changes = re.search(r"(?m)^## (\S+), (unreleased|\d{4}-\d\d-\d\d)$", (SOURCES / "CHANGELOG.md").read_text())
        package = re.match(r"cleave \((\S+)\) (\w+);", (SOURCES / "debian/changelog").read_text())
        table = re.search(r"(?m)^\| the release: .* \| (\S+) \|$", (SOURCES / "docs/compatibility.md").read_text())
        self.assertEqual((changes[1], package[1], table[1]), (VERSION, VERSION, VERSION))
        self.assertEqual(changes[2] == "unreleased", package[2] == "UNRELEASED")

    def test_each_file_is_in_one_debian_package(self):
        """What packaging/build would find out after minutes: paths in debian/*.install and what was installed are the same."""
        patterns = [line.split()[0] for listed in sorted((SOURCES / "debian").glob("*.install"))
                    for line in listed.read_text().splitlines() if line.startswith("usr/")]
        # Debian's folder, with the faces where debian/rules wants them.
        faces = re.compile(rf"^usr/{OPTIONS.library_folder}/(cleave/)?(?=lib[^/]*\.so)")
        others = re.compile(rf"^usr/{OPTIONS.library_folder}/(?=cmake|pkgconfig)")
        files = [others.sub("usr/lib/any/", faces.sub("usr/lib/any/cleave/", f"usr/{path.relative_to(self.prefix)}"))
                 for path in sorted(self.prefix.rglob("*")) if not path.is_dir()]
        # debhelper installs documents, and Python leaves what it has compiled.
        files = [file for file in files if not file.startswith("usr/share/doc/") and "/__pycache__/" not in file]
        found = {file: sum(fnmatch.fnmatch(file, pattern) or file.startswith(pattern + "/") or
                           fnmatch.fnmatch(file, pattern + "/*") for pattern in patterns) for file in files}
        self.assertEqual({file: count for file, count in found.items() if count != 1}, {})
        # A tree that was built without the daemon, say, has less than the packages.
        if all((BUILD / file).exists() for file in EVERYTHING):
            unused = [pattern for pattern in patterns if not any(
                fnmatch.fnmatch(file, pattern) or fnmatch.fnmatch(file, pattern + "/*") for file in files)]
            self.assertEqual(unused, [])

    def test_pkg_config_knows_the_libraries(self):
        path = self.prefix / OPTIONS.library_folder / "pkgconfig"
        version = output("pkg-config", "--modversion", "cleave", PKG_CONFIG_PATH=path).stdout
        self.assertEqual(version.strip(), VERSION)
        for variable in ("dropin", "layer"):
            library = output("pkg-config", f"--variable={variable}", "--define-prefix", "cleave", PKG_CONFIG_PATH=path).stdout
            self.assertTrue(pathlib.Path(library.strip()).is_file(), library)

    def test_cmake_project_finds_it(self):
        project = self.folder / "consumer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CONSUMER.replace("@VERSION@", VERSION))
        (project / "consumer.c").write_text(SOURCE)
        output(OPTIONS.cmake, "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        output(OPTIONS.cmake, "--build", project / "build")
        output(project / "build/consumer")

    def test_follow_port_is_installed_for_guests(self):
        self.assertTrue(os.access(self.prefix / "libexec/cleave/follow_port", os.X_OK))

    @unittest.skipUnless((BUILD / "bin/cleave-monitord").is_file(), "built without the daemon")
    def test_daemon_comes_with_its_units_and_manual(self):
        daemon = self.prefix / "bin/cleave-monitord"
        units = self.prefix / "lib/systemd/system"
        self.assertIn("ListenStream=/run/cleave/monitor.sock", (units / "cleave-monitord.socket").read_text())
        self.assertRegex((units / "cleave-monitord.service").read_text(), r"(?m)^ExecStart=/.*/bin/cleave-monitord$")
        self.assertTrue(list(self.prefix.glob("share/man/man8/cleave-monitord.8")))

    @unittest.skipUnless((BUILD / "bin/cleave-serverd").is_file(), "built without the remote backend")
    def test_program_without_drivers_runs_on_a_server(self):
        native, _ = self.checksum()
        address = f"unix:{self.folder}/server"
        user = ["--user", "root"] if os.geteuid() == 0 else []
        with subprocess.Popen([self.prefix / "bin/cleave-serverd", "--listen", address, *user], stderr=subprocess.PIPE,
                              text=True, env=clean_environment()) as server:
            try:
                for line in server.stderr:
                    if "listening on" in line:
                        break
                remote, _ = self.checksum(self.prefix / "bin/cleave", "run", "--remote", address, "--",
                                          OCL_ICD_VENDORS=os.devnull)
            finally:
                server.terminate()
                server.stderr.close()
        self.assertEqual(remote, native)
        self.assertTrue(list(self.prefix.glob("share/man/man8/cleave-serverd.8")))


if __name__ == "__main__":
    main()
