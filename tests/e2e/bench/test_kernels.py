"""Every kernel of the benchmarks gives, unsplit and split, the result that the host computes."""

import json
import unittest

from bench_modules import PROGRAMS, split
from support.options import DROP_IN, main
from support.processes import clean_environment, run

MODES = ("sequential", "queued", "pipelined")


class Kernels(unittest.TestCase):
    def test_are_right_in_every_mode_and_were_split(self):
        for mode in MODES:
            done = run(PROGRAMS / "cleave_gpu", "launches", *split.KERNELS, "--library", DROP_IN, "--platform", "Portable",
                       "--small", "--repeats", 1, "--waits", 0, *([] if mode == "queued" else ["--no-events"]),
                       environment=clean_environment(CLEAVE_SPLIT="fixed:7", CLEAVE_LAUNCH=mode, CLEAVE_MIN_ITEMS="0",
                                                     CLEAVE_CONFIG="/dev/null"), timeout=280)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([line["work"] for line in lines], list(split.KERNELS))
            for line in lines:
                self.assertTrue(line["native_right"] and line["right"], line)
                self.assertEqual((line["split"], line["slices"]), (1, 7), line)

    def test_unknown_kernel_is_an_error(self):
        done = run(PROGRAMS / "cleave_gpu", "launches", "no such kernel", "--library", DROP_IN)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no such kernel", done.stderr)


class Neighbours(unittest.TestCase):
    def test_busy_job_is_right_and_reports_its_times(self):
        for method in ("native", "cleave"):
            done = run(PROGRAMS / "cleave_gpu", "busy", method, 0.05, "tiled product", "--library", DROP_IN, "--small",
                       environment=clean_environment(CLEAVE_SPLIT="fixed:20", CLEAVE_VMS="5", CLEAVE_CONFIG="/dev/null"), timeout=280)
            self.assertEqual(done.returncode, 0, done.stderr)
            line = json.loads(done.stdout)
            self.assertLess(line["begin"], line["end"])
            self.assertEqual(line["slices"], 0 if method == "native" else 20 * len(line["times"]))


if __name__ == "__main__":
    main()
