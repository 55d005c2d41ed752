"""The installed tree works as the build tree does, and other projects find it by pkg-config and by CMake.

usage: test_install.py CMAKE BUILD_FOLDER PROGRAM LIBRARY_FOLDER
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, PROGRAM, LIBDIR = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(Cleave 0.1 REQUIRED)
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


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name) / "prefix"
        output(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_command_runs_a_program_split(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE_")}
        native = output(PROGRAM, "64", "1", env=environment).stdout.split("checksum=")[1]
        done = output(self.prefix / "bin/cleave", "run", "--policy", "fixed:3", "--stats", "--", PROGRAM, "64", "1",
                      env=environment)
        self.assertEqual(done.stdout.split("checksum=")[1], native)
        self.assertIn("cleave: multiply         2         2         6", done.stderr)

    def test_pkg_config_knows_the_libraries(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.prefix / LIBDIR / "pkgconfig"))
        self.assertEqual(output("pkg-config", "--modversion", "cleave", env=environment).stdout.strip(), "0.1.0")
        for variable in ("dropin", "layer"):
            path = output("pkg-config", f"--variable={variable}", "--define-prefix", "cleave", env=environment).stdout
            self.assertTrue(pathlib.Path(path.strip()).is_file(), path)

    def test_cmake_project_finds_it(self):
        project = pathlib.Path(self.folder.name) / "consumer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CONSUMER)
        (project / "consumer.c").write_text(SOURCE)
        output(CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        output(CMAKE, "--build", project / "build")
        output(project / "build/consumer")

    def test_guests_have_what_follows_a_port(self):
        self.assertTrue(os.access(self.prefix / "libexec/cleave/follow_port", os.X_OK))

    @unittest.skipUnless((BUILD / "bin/cleave-monitord").is_file(), "built without the daemon")
    def test_daemon_comes_with_its_units_and_manual(self):
        daemon = self.prefix / "bin/cleave-monitord"
        self.assertIn("cleave-monitord 0.1.0", output(daemon, "--version").stdout)
        units = self.prefix / "lib/systemd/system"
        self.assertIn("ListenStream=/run/cleave/monitor.sock", (units / "cleave-monitord.socket").read_text())
        self.assertRegex((units / "cleave-monitord.service").read_text(), r"(?m)^ExecStart=/.*/bin/cleave-monitord$")
        self.assertTrue(list(self.prefix.glob("share/man/man8/cleave-monitord.8")))

    @unittest.skipUnless((BUILD / "bin/cleave-serverd").is_file(), "built without the remote backend")
    def test_program_without_drivers_runs_on_a_server(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE_")}
        native = output(PROGRAM, "64", "1", env=environment).stdout.split("checksum=")[1]
        address = f"unix:{self.folder.name}/server"
        with subprocess.Popen([self.prefix / "bin/cleave-serverd", "--listen", address], stderr=subprocess.PIPE, text=True,
                              env=environment) as server:
            try:
                for line in server.stderr:
                    if "listening on" in line:
                        break
                done = output(self.prefix / "bin/cleave", "run", "--remote", address, "--", PROGRAM, "64", "1",
                              env=environment | {"OCL_ICD_VENDORS": os.devnull})
            finally:
                server.terminate()
                server.stderr.close()
        self.assertEqual(done.stdout.split("checksum=")[1], native)
        self.assertTrue(list(self.prefix.glob("share/man/man8/cleave-serverd.8")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
