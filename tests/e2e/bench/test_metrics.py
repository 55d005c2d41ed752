"""The suite `metrics`: its arithmetic, and its parts on PoCL, whose results must be right. No time is checked."""

import json
import unittest

from bench_modules import metrics
from support.options import main
from support.processes import FolderTest, clean_environment, cleave


class Arithmetic(unittest.TestCase):
    def test_a_batch_keeps_all_of_its_speed_at_most_and_never_takes_less_than_alone(self):
        self.assertEqual(metrics.kept([1, 3], [4, 2, 1]), (50 + 100 + 100) / 3)
        self.assertEqual(metrics.longer([1, 3], [4, 2, 1]), (100 + 0 + 0) / 3)

    def test_variation_is_that_of_all_values(self):
        self.assertEqual(metrics.variation([1, 3]), 0.5)
        self.assertEqual(metrics.variation([2, 2]), 0)

    def test_a_share_is_settled_from_the_last_window_on_that_was_far(self):
        steady = [0.01 * i for i in range(1, 301)]
        self.assertEqual(metrics.settled(steady), 0)
        burst = [0.001 * i for i in range(1, 201)] + [0.2 + at for at in steady]
        self.assertAlmostEqual(metrics.settled(burst), 200, delta=20)

    def test_a_rate_counts_launches_by_their_part_within_the_time(self):
        self.assertEqual(metrics.rate([0, 1, 2, 3, 4], 1, 3), 1)
        self.assertEqual(metrics.rate([0, 2, 4], 1, 2), 0.5)


class Suite(FolderTest):
    def test_parts_measure_natively_and_under_cleave(self):
        parts = ("limits", "memory", "share", "neighbours", "errors")
        only = [word for part in parts for word in ("--only", part)]
        done = cleave("bench", "metrics", "--quick", "--platform", "Portable", *only, "--results", self.folder,
                      environment=clean_environment(POCL_MAX_PTHREAD_COUNT=1), timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = json.loads((self.folder / "metrics.json").read_text())
        self.assertTrue(kept["sound"])
        rows = {(row["part"], row["what"].split(": ")[-1]): row["value"] for row in kept["rows"] if "neighbour's work" not in row["what"]}
        for way in ("natively", "by default", "with limits"):
            self.assertEqual(rows["IS-010", way], 1, "it goes on after an error")
        self.assertEqual(rows["IS-005", "with limits"], 1, "memory of others cannot be read")
        self.assertEqual(rows["ERR-003", "with limits"], 100, "all tests are passed")
        self.assertTrue(90 <= rows["IS-001", "with limits"] <= 100, rows["IS-001", "with limits"])
        for metric in ("IS-002", "IS-003", "IS-004", "IS-006", "IS-007", "IS-008", "IS-009", "ERR-001", "ERR-002"):
            self.assertIn((metric, "with limits"), rows)


if __name__ == "__main__":
    main()
