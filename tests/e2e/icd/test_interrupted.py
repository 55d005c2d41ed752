"""`cleave icd` is killed at every step, or a step fails: either command repairs it, and no driver is ever lost."""

import os
import random

from support.options import main
from system_test import LONG_AGO, SystemTest, was_killed

MOST_STEPS = 200


class Interrupted(SystemTest):
    def setUp(self):
        super().setUp()
        self.drivers = ["a.icd", "b.icd", "c.icd"]
        for name in self.drivers:
            self.driver(name)
        self.age()

    def at_each_step(self, action, begin, kind):
        """Injects a fault once at each step of `action`, each time after begin(). Yields each step and the ended process."""
        for step in range(1, MOST_STEPS):
            begin()
            done = self.icd(action, fault=f"{kind}:{step}")
            if not was_killed(done) and done.returncode == 0:
                self.assertGreater(step, 5, f"{action} has hardly any steps: {done}")
                return
            yield step, done
        self.fail(f"{action} does not end")

    def undo(self, before, without_times_of=()):
        self.succeed("uninstall")
        self.assertEqual(self.snapshot(without_times_of), before)
        self.age()

    def test_killed_install_is_undone(self):
        before = self.snapshot([self.opencl])
        for step, done in self.at_each_step("install", lambda: None, "kill"):
            with self.subTest(step=step):
                self.assertTrue(was_killed(done))
                self.assertEachDriverOnce(self.drivers)
                self.undo(before, [self.opencl])
        self.undo(before, [self.opencl])

    def test_killed_install_is_completed_and_undone(self):
        before = self.snapshot([self.opencl])
        for step, _ in self.at_each_step("install", lambda: None, "kill"):
            with self.subTest(step=step):
                self.succeed("install")
                self.assertIn("Installed", self.succeed("status"))
                self.assertEachDriverOnce(self.drivers)
                self.undo(before, [self.opencl])

    def test_killed_uninstall_is_completed(self):
        before = self.snapshot([self.opencl])
        for step, done in self.at_each_step("uninstall", lambda: self.succeed("install"), "kill"):
            with self.subTest(step=step):
                self.assertTrue(was_killed(done))
                self.assertEachDriverOnce(self.drivers)
                self.undo(before, [self.opencl])

    def test_killed_uninstall_is_reverted_by_install(self):
        before = self.snapshot([self.opencl])
        for step, _ in self.at_each_step("uninstall", lambda: self.succeed("install"), "kill"):
            with self.subTest(step=step):
                self.succeed("install")
                self.assertIn("Installed", self.succeed("status"))
                self.undo(before, [self.opencl])

    def is_recorded(self):
        """Whether the folders' original times are recorded."""
        files = [folder / "record" for folder in (self.wrapped, self.opencl / "vendors.cleave.new")]
        return any(file.exists() and file.read_text().count("\n") == 3 for file in files)

    def test_time_of_the_parent_folder_is_restored_once_recorded(self):
        recorded = 0
        for step, _ in self.at_each_step("install", lambda: None, "kill"):
            with self.subTest(step=step):
                known = self.is_recorded()
                recorded += known
                self.succeed("install")
                self.succeed("uninstall")
                if known:
                    self.assertEqual(self.opencl.stat().st_mtime_ns, LONG_AGO + 1)
                self.age()
        self.assertGreater(recorded, 5)

    def test_failed_install_leaves_nothing_behind(self):
        before = self.snapshot([self.opencl])
        for step, done in self.at_each_step("install", lambda: None, "fail"):
            with self.subTest(step=step):
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Acleave: cannot [^\n]+\n\Z")
                self.assertEqual(self.snapshot([self.opencl]), before)
                self.age()
        self.undo(before, [self.opencl])

    def test_failed_uninstall_is_completed_by_another(self):
        before = self.snapshot([self.opencl])
        for step, done in self.at_each_step("uninstall", lambda: self.succeed("install"), "fail"):
            with self.subTest(step=step):
                self.assertEqual(done.returncode, 1)
                self.assertEachDriverOnce(self.drivers)
                self.undo(before, [self.opencl])


class RandomSystem(SystemTest):
    """Random folders, random commands, random interruptions; in the end everything is restored."""

    def fill(self, choose):
        names = [f"{word}{number}.icd" for number, word in enumerate(choose.sample(["a", "b b", "ü", "-d", "e.f", ".g"], choose.randint(1, 5)))]
        for number, name in enumerate(names):
            kind = choose.choice(["file", "file", "long", "empty", "link", "dangling", "second name"])
            if kind == "link":
                (self.vendors / name).symlink_to(choose.choice(["/etc/hostname", "../../../usr/lib/libcleave-icd.so"]))
            elif kind == "dangling":
                (self.vendors / name).symlink_to("/nowhere/at/all.icd")
            elif kind == "second name" and number:
                os.link(self.vendors / names[0], self.vendors / name, follow_symlinks=False)
            else:
                text = {"long": "libx.so\nmore\n" * 1000, "empty": ""}.get(kind, f"lib{number}.so")
                self.driver(name, text, choose.choice([0o644, 0o600, 0o444, 0o755]), LONG_AGO + choose.randrange(10**12))
        self.driver("readme.txt", "not a driver\n")
        self.vendors.chmod(choose.choice([0o755, 0o750, 0o777]))
        self.age()
        return names

    def test_everything_is_restored_in_the_end(self):
        for seed in range(40):
            choose = random.Random(seed)
            with self.subTest(seed=seed):
                for path in self.vendors.iterdir():
                    path.unlink()
                drivers = self.fill(choose)
                before = self.snapshot([self.opencl])
                for _ in range(choose.randint(1, 6)):
                    action = choose.choice(["install", "uninstall"])
                    kill = choose.choice([None, f"kill:{choose.randint(1, 25)}"])
                    done = self.icd(action, fault=kill)
                    self.assertTrue(done.returncode == 0 or was_killed(done), done)
                    self.assertEachDriverOnce(drivers)
                self.succeed("uninstall")
                self.assertEqual(self.snapshot([self.opencl]), before)


if __name__ == "__main__":
    main()
