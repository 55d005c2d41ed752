"""The report of `cleave doctor` about a registered vendor library, with or without Cleave's other faces."""

import os

from command_test import CommandTest
from support.options import VENDOR, main
from support.programs import driver_icd

POCL = "/etc/OpenCL/vendors/pocl.icd"
PROGRAM = "int main() {}"


class Vendor(CommandTest):
    def setUp(self):
        super().setUp()
        self.vendors = self.folder / "vendors"
        self.vendors.mkdir()

    def register(self, library=VENDOR):
        (self.vendors / "cleave.icd").write_text(f"{library}\n")

    def examine(self, *arguments, command=None, **settings):
        """Returns the exit status and the report. Loaders take a path with a slash at its end for a folder."""
        environment = {"OCL_ICD_VENDORS": f"{self.vendors}/", "CLEAVE_ICD_WRAP": POCL} | settings
        others = {"command": command} if command else {}
        done = self.cleave("doctor", *arguments, environment=environment, **others)
        return done.returncode, done.stdout.decode()

    def test_not_registered_is_a_note(self):
        status, report = self.doctor()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"Vendor library\n +note +not registered: [^\n]+\n +-> [^\n]+cleave icd install\n")

    def test_registered_alone_is_reported(self):
        self.register()
        status, report = self.examine()
        self.assertEqual(status, 0, report)
        self.assertIn(f"registered in {self.vendors}/cleave.icd: {VENDOR}\n", report)
        self.assertIn("ok       it answers, and its version is this command's\n", report)
        self.assertRegex(report, r"ok +in front of the platform Portable Computing Language\n")
        _, report = self.examine(CLEAVE_PLATFORM_NAMES="marked")
        self.assertRegex(report, r"ok +in front of the platform Portable Computing Language \(Cleave\)\n")

    def test_driver_registered_beside_it_is_a_note(self):
        self.register()
        (self.vendors / "oclgrind.icd").write_text(f"{driver_icd('oclgrind')}\n")
        status, report = self.examine()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"note +not in front of the platform Oclgrind\n +-> cleave icd install\n")

    def test_registered_library_that_is_missing_is_a_problem(self):
        self.register("/nowhere/libcleave-icd.so")
        status, report = self.examine()
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +a program that is not under `cleave run` does not find it\n +-> [^\n]+status\n")

    def test_no_driver_to_wrap_is_a_problem(self):
        self.register()
        status, report = self.examine(CLEAVE_ICD_WRAP="/nonexistent/folder")
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +a program that is not under `cleave run` does not find it\n")

    def test_reported_although_the_drop_in_is_missing(self):
        self.register()
        command = self.copy_of_installation("alone")
        for file in (command.parent.parent / "lib/cleave").iterdir():
            file.unlink()
        status, report = self.examine(command=command)
        self.assertEqual(status, 1, "the missing drop-in is a problem")
        self.assertRegex(report, r"ok +in front of the platform Portable Computing Language\n")

    def test_program_with_raised_privileges_is_intercepted(self):
        if os.getuid() != 0:
            self.skipTest("only root can give files away")
        program = self.compile("raised", PROGRAM)
        os.chown(program, 65534, 0)
        program.chmod(0o4755)
        status, report = self.examine(program)
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +it runs with raised privileges [^\n]+\n +-> register the vendor library")
        self.register()
        status, report = self.examine(program)
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"ok +it runs with raised privileges \(set-uid\): intercepted by the vendor library")


main()
