"""`cleave icd`: its effects, its output, and what it refuses."""

import fcntl
import os
import shutil
import unittest
from pathlib import Path

from support.options import CLEAVE, main
from support.processes import cleave, run
from system_test import LIBRARY, SystemTest

NOBODY = 65534
OTHER_FILE_SYSTEM = Path("/dev/shm")


class Installed(SystemTest):
    def test_moves_drivers_and_registers_itself(self):
        self.driver("pocl.icd")
        self.driver("other.icd")
        self.driver("readme.txt")
        self.succeed("install")
        self.assertEqual(sorted(path.name for path in self.vendors.iterdir()), ["cleave.icd", "readme.txt"])
        self.assertEqual(sorted(path.name for path in self.wrapped.glob("*.icd")), ["other.icd", "pocl.icd"])
        self.assertEqual(self.registration.read_text(), LIBRARY + "\n")
        self.assertEqual(self.registration.stat().st_mode & 0o777, 0o644)
        self.assertEqual(self.wrapped.stat().st_mode & 0o777, self.vendors.stat().st_mode & 0o777)

    def test_installed_files_are_readable_by_all_with_any_umask(self):
        self.vendors.chmod(0o755)
        self.driver("pocl.icd")
        self.succeed("install", umask=0o077)
        self.assertEqual(self.wrapped.stat().st_mode & 0o777, 0o755)
        self.assertEqual(self.registration.stat().st_mode & 0o777, 0o644)

    def test_uninstall_restores_everything(self):
        self.driver("pocl.icd", mode=0o600)
        (self.vendors / "link.icd").symlink_to("pocl.icd")
        self.age()
        before = self.snapshot()
        self.succeed("install")
        self.assertNotEqual(self.snapshot(), before)
        self.succeed("uninstall")
        self.assertEqual(self.snapshot(), before)

    def test_repeated_commands_have_no_effect(self):
        self.driver("pocl.icd")
        self.age()
        before = self.snapshot()
        self.assertIn("Nothing to do", self.succeed("uninstall"))
        self.assertEqual(self.snapshot(), before)
        self.succeed("install")
        installed = self.snapshot()
        self.assertIn("Nothing to do", self.succeed("install"))
        self.assertEqual(self.snapshot(), installed)
        self.succeed("uninstall")
        self.assertIn("Nothing to do", self.succeed("uninstall"))
        self.assertEqual(self.snapshot(), before)

    def test_repeated_install_wraps_new_drivers(self):
        self.driver("pocl.icd")
        self.succeed("install")
        self.driver("late.icd")
        done = self.icd("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Installed, but not in front of every driver", done.stdout)
        self.succeed("install")
        self.assertEachDriverOnce(["pocl.icd", "late.icd"])
        self.assertIn("Installed: ", self.succeed("status"))
        self.succeed("uninstall")
        self.assertEqual(sorted(path.name for path in self.vendors.iterdir()), ["late.icd", "pocl.icd"])
        self.assertFalse(self.wrapped.exists())

    def test_repeated_install_registers_a_moved_library(self):
        self.driver("pocl.icd")
        self.age()
        before = self.snapshot()
        self.succeed("install")
        (self.root / "usr/lib/libcleave-icd.so").rename(self.root / "usr/lib64")
        self.assertIn("Broken", self.icd("status").stdout)
        self.succeed("install", library="/usr/lib64")
        self.assertEqual(self.registration.read_text(), "/usr/lib64\n")
        (self.root / "usr/lib64").rename(self.root / "usr/lib/libcleave-icd.so")
        self.succeed("uninstall")
        self.assertEqual(self.snapshot([self.root / "usr", self.root / "usr/lib"]),
                         {path: {key: value for key, value in attributes.items() if key != "time" or not path.endswith(("usr", "usr/lib"))}
                          for path, attributes in before.items()})

    def test_other_folders_by_option(self):
        self.driver("pocl.icd")
        other = self.root / "opt/vendors"
        other.parent.mkdir()
        self.vendors.rename(other)
        words = "--vendors", "/opt/vendors", "--wrapped", "/opt/behind"
        self.assertIn('icd.wrap = "/opt/behind"', self.succeed("install", *words))
        self.assertEqual([path.name for path in other.iterdir()], ["cleave.icd"])
        self.assertIn("Installed", self.succeed("status", *words))
        self.succeed("uninstall", *words)
        self.assertEqual([path.name for path in other.iterdir()], ["pocl.icd"])

    def test_status_lists_drivers_and_their_folders(self):
        self.driver("pocl.icd", "libpocl.so.2\n")
        done = self.icd("status")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn(f"{self.vendors}/pocl.icd: libpocl.so.2\n", done.stdout)
        self.assertIn("Not installed", done.stdout)
        self.succeed("install")
        text = self.succeed("status")
        self.assertIn(f"{self.registration}: {LIBRARY}\n", text)
        self.assertIn(f"{self.wrapped}/pocl.icd: libpocl.so.2\n", text)


class DryRun(SystemTest):
    def setUp(self):
        super().setUp()
        self.driver("pocl.icd")
        self.age()

    def test_prints_each_step_and_changes_nothing(self):
        before = self.snapshot()
        said = self.succeed("install", "--dry-run")
        self.assertEqual(self.snapshot(), before)
        self.assertIn(f"would move {self.vendors}/pocl.icd to {self.wrapped}/pocl.icd\n", said)
        self.assertIn("Nothing was changed.", said)
        done = self.succeed("install")
        would = [line.removeprefix("would ") for line in said.splitlines() if line.startswith("would ")]
        self.assertEqual(done.splitlines()[: len(would)], would)
        installed = self.snapshot()
        self.assertIn("would ", self.succeed("uninstall", "--dry-run"))
        self.assertEqual(self.snapshot(), installed)

    @unittest.skipIf(os.geteuid() != 0, "other users' default is what the other tests pass --apply for")
    def test_is_the_default_for_users_other_than_root(self):
        self.root.parent.chmod(0o777)
        for path in (self.root, *self.root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        before = self.snapshot()
        own = self.root.parent / "cleave"  # where the build folder is, they may have no access
        shutil.copy(CLEAVE, own)
        own.chmod(0o755)
        command = [own, "icd", "install", "--root", self.root, "--library", LIBRARY]

        def install(*words):
            return run(*command, *words, user=NOBODY)

        done = install()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("Nothing was changed. Run as root, or with --apply.", done.stdout)
        self.assertEqual(self.snapshot(), before)
        self.assertEqual(install("--apply").returncode, 0)
        self.assertTrue(self.registration.exists())
        os.chown(self.vendors, 0, 0)
        done = install("--apply")
        self.assertEqual((done.returncode, done.stderr), (0, ""), "there is nothing to do, which needs no rights")


class Refused(SystemTest):
    def test_missing_folder_or_driver_is_named(self):
        self.assertIn("no driver to wrap", self.refuse("install"))
        self.vendors.rmdir()
        self.assertIn("there is no folder", self.refuse("install"))

    def test_missing_library_is_named(self):
        self.driver("pocl.icd")
        self.assertIn("/nowhere.so", self.refuse("install", library="/nowhere.so"))
        (self.root / "text.so").write_text("no library")
        self.assertIn("/text.so", self.refuse("install", library="/text.so"))

    def test_manual_changes_are_kept(self):
        self.driver("pocl.icd")
        self.wrapped.mkdir()
        self.assertIn("not from `cleave icd install`", self.refuse("install"))
        self.registration.write_text(LIBRARY + "\n")
        self.assertIn("not from `cleave icd install`", self.refuse("install"))
        self.assertIn("by hand", self.refuse("uninstall"))
        self.assertIn("Registered, but not by", self.icd("status").stdout)
        self.wrapped.rmdir()
        self.assertIn("not from `cleave icd install`", self.refuse("install"))

    def test_another_registration_of_cleave_is_kept(self):
        self.driver("zz-cleave.icd", "/opt/lib/libcleave-icd.so\n")
        self.assertIn("registers Cleave already", self.refuse("install"))

    def test_two_drivers_with_the_same_name_are_kept(self):
        self.driver("pocl.icd")
        self.succeed("install")
        self.driver("pocl.icd")
        self.assertIn("both in", self.refuse("install"))
        self.assertIn("both in", self.refuse("uninstall"))

    def test_other_files_among_the_wrapped_drivers_are_kept(self):
        self.driver("pocl.icd")
        self.succeed("install")
        (self.wrapped / "notes.txt").touch()
        self.assertIn("notes.txt", self.refuse("uninstall"))

    def test_links_whose_target_would_change_are_kept(self):
        self.driver("pocl.icd")
        self.driver("real.txt")
        (self.vendors / "link.icd").symlink_to("real.txt")
        self.assertIn("symbolic link that would point elsewhere", self.refuse("install"))

    def test_folders_outside_the_root_are_refused(self):
        self.driver("pocl.icd")
        outside = self.root.parent / "outside"
        self.vendors.rename(outside)
        self.vendors.symlink_to(outside)
        self.assertIn("points out of", self.refuse("install"))

    def test_concurrent_command_is_refused(self):
        self.driver("pocl.icd")
        folder = os.open(self.vendors, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self.assertIn("another `cleave icd` is running", self.refuse("install"))
        finally:
            os.close(folder)

    def test_folders_on_different_file_systems_are_refused(self):
        if not OTHER_FILE_SYSTEM.is_dir() or OTHER_FILE_SYSTEM.stat().st_dev == self.root.stat().st_dev:
            self.skipTest(f"{OTHER_FILE_SYSTEM} is no other file system")
        self.driver("pocl.icd")
        done = cleave("icd", "install", "--apply", "--vendors", self.vendors, "--wrapped",
                      OTHER_FILE_SYSTEM / "cleave-test.none")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("different file systems", done.stderr)
        self.assertEqual([path.name for path in self.vendors.iterdir()], ["pocl.icd"])

    def test_invalid_command_lines_are_refused(self):
        for words in ([], ["nothing"], ["install", "--nothing"], ["status", "--apply"]):
            done = cleave("icd", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertRegex(done.stderr, r"\Acleave: [^\n]+\n\Z")


if __name__ == "__main__":
    main()
