"""`cleave bench tune` writes settings that Cleave reads."""

import tomllib

from bench_modules import PROGRAMS, results, tune
from support.options import main
from support.processes import FolderTest, clean_environment, cleave


class Tune(FolderTest):
    def tune(self, *words):
        return cleave("bench", "tune", "--quick", "--neighbours", 1, "--results", self.folder, "--write",
                      self.folder / "cleave.toml", *words, cwd=self.folder, timeout=280)

    def test_searches_and_writes_settings_that_cleave_reads(self):
        done = self.tune("--budget", 100, "--", PROGRAMS / "matmul", 48, 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 VMs, α 1", done.stdout)
        split = tomllib.loads((self.folder / "cleave.toml").read_text())["split"]
        self.assertEqual(split["policy"], "alpha")
        self.assertRegex(split["alpha"], r"^2:\d+$")
        doctor = cleave("doctor", environment=clean_environment(CLEAVE_CONFIG=self.folder / "cleave.toml"))
        self.assertIn("cleave.toml", doctor.stdout)
        self.assertEqual(results.load(self.folder / "tune.json").suite, "tune")

    def test_program_that_fails_is_named(self):
        done = self.tune("--", "false")
        self.assertEqual(done.returncode, 2)
        self.assertIn("false ended with status 1 without Cleave", done.stderr)

    def test_program_without_launches_is_named(self):
        done = self.tune("--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no launch of the program was split", done.stderr)

    def test_alpha_of_each_count_is_written(self):
        split = tomllib.loads(tune.toml(["program"], 0.05, {2: 16, 3: 16, 5: 4}))["split"]
        self.assertEqual(split, {"policy": "alpha", "alpha": "2:16,5:4"})

    def test_splitting_is_off_if_no_alpha_is_cheap_enough(self):
        self.assertEqual(tomllib.loads(tune.toml(["program"], 0.05, {2: 1, 5: None}))["split"], {"policy": "off"})


if __name__ == "__main__":
    main()
