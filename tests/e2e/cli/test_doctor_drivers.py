"""`cleave doctor` with drivers that crash, hang or print."""

import shutil
import time
from pathlib import Path

from command_test import CommandTest
from support.options import main

INSTALLED = Path("/etc/OpenCL/vendors")
ON_FIRST_CALL = """
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
extern "C" void* clGetExtensionFunctionAddress(const char*) {{ {statement} return nullptr; }}
"""


class Drivers(CommandTest):
    def install(self, name, statement):
        """A folder of drivers with one that executes `statement` when the loader first calls it."""
        driver = self.compile(f"lib{name}.so", ON_FIRST_CALL.format(statement=statement), "-shared", "-fPIC")
        vendors = self.folder / "vendors"
        vendors.mkdir(exist_ok=True)
        icd = vendors / f"{name}.icd"
        icd.write_text(f"{driver}\n")
        return icd

    def examine(self, *arguments):
        start = time.monotonic()
        status, report = self.doctor(*arguments, OCL_ICD_VENDORS=str(self.folder / "vendors"))
        return status, report, time.monotonic() - start

    def test_crashing_driver_is_named(self):
        icd = self.install("crashing", 'std::fputs("out of luck\\n", stderr); std::raise(SIGSEGV);')
        status, report, _ = self.examine()
        self.assertEqual(status, 1)
        self.assertRegex(report, rf"problem +with {icd} alone, the process was killed by signal 11[^\n]*out of luck")
        self.assertNotIn("No problems found", report)

    def test_hanging_driver_is_named_in_time(self):
        icd = self.install("hanging", "for (;;) ::pause();")
        status, report, taken = self.examine("--timeout", "1")
        self.assertEqual(status, 1)
        self.assertRegex(report, rf"problem +with {icd} alone, the process did not answer in time")
        self.assertLess(taken, 20)

    def test_drivers_beside_a_crashing_one_are_not_blamed(self):
        bad = self.install("crashing", "std::abort();")
        drivers = sorted(INSTALLED.glob("*.icd"))
        if not drivers:
            self.skipTest("no driver is installed")
        good = Path(shutil.copy(drivers[0], bad.parent))
        status, report, _ = self.examine()
        self.assertEqual(status, 1)
        self.assertIn(f"ok       {good} alone works", report)
        self.assertRegex(report, rf"problem +with {bad} alone")

    def test_output_of_a_driver_is_not_parsed_as_a_reply(self):
        self.install("talking", 'std::puts("device\\t0\\t0\\tforged\\tGPU\\t1\\t1\\t1"); std::fflush(stdout);')
        status, report, _ = self.examine()
        self.assertEqual(status, 1)
        self.assertNotIn("forged", report)
        self.assertIn("there is no OpenCL device", report)

    def test_missing_driver_is_a_problem(self):
        (self.folder / "vendors").mkdir()
        status, report, _ = self.examine()
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +there is no OpenCL device\n +-> install ")
        self.assertNotIn("does not load layers", report)


main()
