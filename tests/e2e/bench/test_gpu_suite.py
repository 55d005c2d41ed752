"""The parts of the suite `gpu` that prove something on any device: they succeed, and none is left out unnoticed."""

import json

from support.options import main
from support.processes import FolderTest, clean_environment, cleave


class GpuSuite(FolderTest):
    def test_preloaded_scan_is_right_in_every_mode_and_waits_are_measured(self):
        self.measure("preload")

    def test_vendor_library_scan_is_right_in_every_mode_and_waits_are_measured(self):
        self.measure("vendor")

    def measure(self, method):
        done = cleave("bench", "gpu", "--quick", "--platform", "Portable", "--only", "scan", "--only", "waiting", "--results",
                      self.folder, "--way", method, environment=clean_environment(POCL_MAX_PTHREAD_COUNT=1), timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.folder / "gpu.json").read_text())["rows"]
        scans = [row["value"] for row in rows if row["part"] == "scan"]
        self.assertEqual(scans, [4, 4, 4, 4], "right in four slice counts, in each of four modes")
        self.assertEqual(len([row for row in rows if row["part"] == "waiting"]), 6, "three calls, each with two figures")


if __name__ == "__main__":
    main()
