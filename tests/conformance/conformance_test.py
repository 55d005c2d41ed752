"""The comparison of conformance suites, on a suite that is made up: a program that speaks as those of Khronos do."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import cts

SUITE = """#!{python}
import json, os, signal, sys, time
under_cleave = "CLEAVE_SPLIT" in os.environ
if sys.argv[1] == "--help":
    print("Usage: test_made [<test name>*]\\n\\t<test name>\\tOne or more of: (default *)\\n\\nTest names:")
    for name in ("passes", "fails", "skips", "crashes", "differs", "varies"):
        print("\\t" + name)
    sys.exit()
name = sys.argv[1]
verdict = {{"passes": "pass", "fails": "fail", "skips": "skip", "differs": "fail" if under_cleave else "pass"}}.get(name)
if name == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
if name == "hangs" and under_cleave:
    time.sleep(60)
if name == "varies":
    runs = "{folder}/runs"
    with open(runs, "a") as file:
        file.write(".")
    verdict = "pass" if os.path.getsize(runs) == 1 else "fail"
if verdict:
    with open(os.environ["CL_CONFORMANCE_RESULTS_FILENAME"], "w") as file:
        json.dump({{"cmd": "made", "results": {{name: verdict}}}}, file)
if under_cleave:
    with open(os.environ["CLEAVE_STATS"].replace("%p", str(os.getpid())), "w") as file:
        json.dump({{"launches": 2, "split": 1, "slices": 7}}, file)
sys.exit(verdict == "fail")
"""


class MadeUpSuite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        program = self.folder / "test_conformance/made/test_made"
        program.parent.mkdir(parents=True)
        program.write_text(SUITE.format(python=sys.executable, folder=self.folder))
        program.chmod(0o755)

    def test_suites_are_found_and_the_missing_are_named(self):
        suites, missing = cts.find_suites(self.folder, ("other", "made"))
        self.assertEqual(([suite.name for suite in suites], missing), (["made"], ["other"]))

    def test_verdicts_are_compared_with_the_native_ones(self):
        (suite,), _ = cts.find_suites(self.folder, ("made",))
        native = {"PATH": os.environ["PATH"]}
        said = []
        figures = cts.compare(suite, native, {"drop-in": native | cts.SETTINGS}, 300, said.append)["drop-in"]
        self.assertEqual(dict(figures.native), {"pass": 3, "fail": 1, "skip": 1, "SIGSEGV": 1})
        self.assertEqual(figures.same, 4)
        self.assertEqual(figures.unstable, ["varies"])
        self.assertEqual(figures.different, [("differs", "pass", "fail")])
        self.assertEqual(len(said), 1)
        self.assertEqual(cts.row("made", "drop-in", figures),
                         "| made | drop-in | 6 | 3 | 1 | 2 | 4 | 1 | 10 | 5 | 35 |")

    def test_sub_test_without_an_end_is_ended(self):
        (suite,), _ = cts.find_suites(self.folder, ("made",))
        self.assertEqual(cts.run(suite, "hangs", cts.SETTINGS | {"PATH": os.environ["PATH"]}, 0.5).verdict, cts.TOO_LONG)

    def test_sub_test_without_a_verdict_is_known_by_its_end(self):
        (suite,), _ = cts.find_suites(self.folder, ("made",))
        self.assertEqual(cts.run(suite, "hangs", {"PATH": os.environ["PATH"]}, 300).verdict, "exit status 0")


if __name__ == "__main__":
    unittest.main()
