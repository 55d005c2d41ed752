"""That the parts of the suite `gpu` which prove something of any device prove it, and that none is left out unnoticed."""

import json
import pathlib
import tempfile
import unittest

from bench import CLEAVE, main, run


class Gpu(unittest.TestCase):
    def test_scan_is_right_in_every_mode_and_waits_are_measured(self):
        self.measure("preload")

    def test_through_the_vendor_library_as_well(self):
        self.measure("vendor")

    def measure(self, way):
        with tempfile.TemporaryDirectory() as folder:
            done = run(CLEAVE, "bench", "gpu", "--quick", "--platform", "Portable", "--only", "scan", "--only", "waiting",
                       "--results", folder, "--way", way, POCL_MAX_PTHREAD_COUNT="1")
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads((pathlib.Path(folder) / "gpu.json").read_text())["rows"]
        scans = [row["value"] for row in rows if row["part"] == "scan"]
        self.assertEqual(scans, [4, 4, 4, 4], "right in four slice counts, in each of four modes")
        self.assertEqual(len([row for row in rows if row["part"] == "waiting"]), 6, "three calls, each with two figures")


if __name__ == "__main__":
    main()
