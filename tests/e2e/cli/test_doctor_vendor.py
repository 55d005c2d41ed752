"""The report of `cleave doctor` where the vendor library is registered, with or without Cleave's other faces."""

import os

from surroundings import LIBRARIES, CommandTest, main

POCL = "/etc/OpenCL/vendors/pocl.icd"
VENDOR = LIBRARIES / "libcleave-icd.so"
PROGRAM = "int main() {}"


class Vendor(CommandTest):
    def setUp(self):
        super().setUp()
        self.vendors = self.folder / "vendors"
        self.vendors.mkdir()

    def register(self, library=VENDOR):
        (self.vendors / "cleave.icd").write_text(f"{library}\n")

    def examine(self, *arguments, command=None, **settings):
        """Gives the exit status and the report. With a slash behind it, loaders take it for a folder."""
        environment = {"OCL_ICD_VENDORS": f"{self.vendors}/", "CLEAVE_ICD_WRAP": POCL} | settings
        others = {"command": command} if command else {}
        done = self.cleave("doctor", *arguments, environment=environment, **others)
        return done.returncode, done.stdout.decode()

    def test_not_registered_is_noted(self):
        status, report = self.doctor()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"Vendor library\n +note +not registered: [^\n]+\n +-> [^\n]+cleave icd install\n")

    def test_registered_alone_is_seen(self):
        self.register()
        status, report = self.examine()
        self.assertEqual(status, 0, report)
        self.assertIn(f"registered in {self.vendors}/cleave.icd: {VENDOR}\n", report)
        self.assertIn("ok       it answers, and its version is this command's\n", report)
        self.assertRegex(report, r"ok +in front of the platform [^\n]+ \(Cleave\)\n")

    def test_a_driver_beside_it_is_noted(self):
        self.register()
        (self.vendors / "oclgrind.icd").write_text("/usr/lib/oclgrind/liboclgrind-rt-icd.so\n")
        status, report = self.examine()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"note +not in front of the platform Oclgrind\n +-> cleave icd install\n")

    def test_a_library_that_is_gone_is_a_problem(self):
        self.register("/nowhere/libcleave-icd.so")
        status, report = self.examine()
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +a program that is not under `cleave run` does not find it\n +-> [^\n]+status\n")

    def test_nothing_to_wrap_is_a_problem(self):
        self.register()
        status, report = self.examine(CLEAVE_ICD_WRAP="/nonexistent/folder")
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +a program that is not under `cleave run` does not find it\n")

    def test_it_is_seen_where_the_drop_in_is_missing(self):
        self.register()
        command = self.copy_of_installation("alone")
        for file in (command.parent.parent / "lib/cleave").iterdir():
            file.unlink()
        status, report = self.examine(command=command)
        self.assertEqual(status, 1, "the drop-in is missed")
        self.assertRegex(report, r"ok +in front of the platform [^\n]+ \(Cleave\)\n")

    def test_a_program_with_raised_privileges_is_caught(self):
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
