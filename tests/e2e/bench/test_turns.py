"""The suite `turns`: its arithmetic, and parts of it on PoCL, whose results must be right under Cleave in turns as well."""

import json
import subprocess
import unittest
from unittest import mock

from bench_modules import results, turns
from support.options import main
from support.processes import FolderTest, clean_environment, cleave


class Arithmetic(unittest.TestCase):
    def test_launches_that_reach_beyond_the_window_count_by_their_part_within(self):
        ends = [2, 3, 5, 9]  # from 1 on
        self.assertEqual(turns.work_within(1, ends, 1, 9), 4)
        self.assertEqual(turns.work_within(1, ends, 2.5, 4), 1)
        self.assertEqual(turns.work_within(1, ends, 6, 7), 0.25)
        self.assertEqual(turns.work_within(1, ends, 9, 12), 0)

    def test_rates_and_processor_time_are_those_of_one_process(self):
        job = {"begin": 0, "end": 4, "ends": [1, 2, 3, 4], "processor": 1000}
        outcome = turns.Outcome([{"waits": [1]}, job], 1, 3)
        self.assertEqual((outcome.work_of(1), outcome.cores_of(1), turns.total(outcome, 1)), (1, 0.25, 1))


class Processes(unittest.TestCase):
    def test_all_end_if_one_does_not_start(self):
        started = []

        class Deaf(turns.Running):
            def __init__(self, *_):
                words = "read line" if started else "echo ready; read line"
                self.ends_by_itself = False
                self.process = subprocess.Popen(["sh", "-c", f"{words}; exec sleep 60"], stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, text=True)
                if started:
                    self.process.kill()
                started.append(self.process)

        with mock.patch.object(turns, "Running", Deaf), self.assertRaises(results.Unmeasured):
            turns.run_all("", [None, None], 1)
        for process in started:
            self.assertLess(process.wait(10), 0)


class Suite(FolderTest):
    def test_results_in_turns_are_right(self):
        parts = ("weights", "alone", "overlap", "idle", "outsiders", "driver", "many", "remote")
        only = [word for part in parts for word in ("--only", part)]
        done = cleave("bench", "turns", "--quick", "--seconds", 0.1, "--platform", "Portable", *only, "--results", self.folder,
                      environment=clean_environment(POCL_MAX_PTHREAD_COUNT=1), timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.folder / "turns.json").read_text())["rows"]
        counts = {part: sum(row["part"] == part for row in rows) for part in parts}
        self.assertEqual(counts, {"weights": 2, "alone": 6, "overlap": 4, "idle": 4, "outsiders": 6, "driver": 9, "many": 2,
                                  "remote": 2})
        self.assertAlmostEqual(sum(row["value"] for row in rows if row["part"] == "weights"), 1)


if __name__ == "__main__":
    main()
