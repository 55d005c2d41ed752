"""The fuzzer itself: it finds differences and reduces them."""

import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from runs import Mode, Outcome, parse_output
from shrink import Case, compare, without

HERE = Path(__file__).parent
_parser = argparse.ArgumentParser()
_parser.add_argument("--program", required=True)
_parser.add_argument("--naive", required=True, help="a wrong splitter")
OPTIONS, _rest = _parser.parse_known_args()


def outcome(text, status=0):
    return Outcome(status, *parse_output(text), {}, "command", "")


class Lines(unittest.TestCase):
    def test_output_is_parsed_into_cases_and_notes(self):
        lines, notes = parse_output("# note\n3.built log=x\n3.0 launch out=1\n3.1 sequence s=0 out=2\n")
        self.assertEqual(lines, {"3.built": "log=x", "3.0 launch": "out=1", "3.1 sequence": "s=0 out=2"})
        self.assertEqual(notes, ["note"])

    def test_names_of_temporary_files_are_ignored(self):
        first, second = (outcome(f"1.built log=/a/tempfile_{name}.cl:3: no\n") for name in ("x1", "y2"))
        self.assertFalse(compare(first, second))

    def test_changed_value_is_a_difference(self):
        first, second = (outcome(f"1.0 launch out=1\n1.1 launch out={word}\n") for word in (2, 3))
        difference = compare(first, second)
        self.assertEqual(difference.lines, {"1.1 launch": ("out=2", "out=3")})

    def test_missing_line_and_changed_status_are_differences(self):
        difference = compare(outcome("1.0 launch out=1\n1.1 launch out=2\n"), outcome("1.0 launch out=1\n", -11))
        self.assertEqual(difference.lines, {"1.1 launch": ("out=2", None), "exit status": (0, -11)})


class Shrinking(unittest.TestCase):
    def test_only_needed_pieces_are_kept(self):
        case = Case(1, 2, 3, Mode("queued", 2))
        needed = {4, 11}
        small = without(case, "dropped", range(20), lambda smaller: not needed & smaller.dropped)
        self.assertEqual(set(range(20)) - small.dropped, needed)


class NaiveSplitter(unittest.TestCase):
    def test_difference_is_found_and_reduced(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, HERE / "fuzz.py", "--program", OPTIONS.program, "--library", OPTIONS.naive]
                + ["--programs", "1", "--cases", "20", "--modes", "queued", "--counts", "2", "--jobs", "1"]
                + ["--most-differences", "1", "--first-program", "1", "--reports", folder],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("DIFFERENT", done.stdout)
            reports = sorted(Path(folder).iterdir())
            text = (reports[0] / "kernels.cl").read_text()
            self.assertRegex(text, "get_(group|num_groups|global_size|global_offset|global_linear)", done.stdout)
            self.assertLess(len(text.splitlines()), 30, text)
            self.assertIn("Commands:", (reports[0] / "report.txt").read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *_rest])
