"""The parts of `tests/programs` that need no program: the table, the counting of launches, the comparison, the report."""

import json
import re
import string
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import comparison
import installing
import launches
import report
import ways
from places import INPUTS
from running import Run
from table import PROGRAMS, Program


def launch(name, decision, why=None, global_size=(64, 1, 1), local_size=(8, 1, 1), **others):
    arguments = {"decision": decision, "why": why, "global": list(global_size), "local": local_size and list(local_size)}
    return name, {key: value for key, value in (arguments | others).items() if value is not None}


def trace_of(*found):
    lines = [json.dumps({"ph": "X", "cat": "launch", "name": name, "args": arguments}) for name, arguments in found]
    return "[\n" + ",\n".join(lines)


class Table(unittest.TestCase):
    def test_has_the_twelve_programs_once_each(self):
        self.assertEqual(len(PROGRAMS), 12)
        self.assertEqual(len({program.name for program in PROGRAMS}), 12)

    def test_each_program_comes_from_packages_and_has_something_to_compare(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                self.assertTrue(program.debian or program.pypi)
                self.assertTrue(program.results or program.keep is not None)
                self.assertEqual(program.driver is None, not program.driver_reason)

    def test_packages_of_pypi_have_one_version_each(self):
        packages = [*installing.pypi_packages(PROGRAMS), *installing.source_packages(PROGRAMS)]
        for package in packages:
            self.assertRegex(package, r"^[a-z0-9-]+==[0-9.]+$")
        versions = dict(package.split("==") for package in packages)
        self.assertEqual(len(set(packages)), len(versions))

    def test_words_name_known_places_and_inputs_that_exist(self):
        known = {"python", "debian_python", "inputs", "sources", "home", "loader"}
        for program in PROGRAMS:
            for word in (*program.command, *(word for line in program.prepare for word in line), *program.variables.values()):
                self.assertLessEqual({field for _, field, _, _ in string.Formatter().parse(word) if field}, known)
                if found := re.match(r"\{inputs\}/(.*)", word):
                    self.assertTrue((INPUTS / found[1]).is_file(), word)


class Splittable(unittest.TestCase):
    def test_a_launch_of_one_group_or_no_more_items_than_cores_could_not_be_split(self):
        self.assertFalse(launches.could_be_split([64, 1, 1], [64, 1, 1], "kernel", 1))
        self.assertFalse(launches.could_be_split([64, 1, 1], [8, 1, 1], "kernel", 64))
        self.assertTrue(launches.could_be_split([65, 1, 1], [8, 1, 1], "kernel", 64))

    def test_a_smaller_group_at_the_end_counts(self):
        self.assertTrue(launches.could_be_split([9], [8], "shape", 1))

    def test_where_the_driver_chooses_groups_cleave_says_whether_there_is_one(self):
        self.assertFalse(launches.could_be_split([64], None, "one_group", 1))
        self.assertTrue(launches.could_be_split([64], None, "binary", 1))

    def test_where_the_driver_chooses_groups_a_few_items_are_one(self):
        self.assertFalse(launches.could_be_split([63], None, "shape", 1))


class Records(unittest.TestCase):
    def test_count_holds_kernels_and_the_reasons_of_launches_that_could_be_split(self):
        kernels = launches.count([launch("a", "split"), launch("a", "unsplit", "shared"), launch("a", "unsplit", "one_group", (8, 1, 1)),
                                  launch("b", "unsplit", "kernel"), launch("b", "split", error=-54)], cores=1)
        self.assertEqual((kernels["a"].launches, kernels["a"].splittable, kernels["a"].split), (3, 2, 1))
        self.assertEqual(kernels["a"].unsplit, {"shared": 1})
        self.assertEqual((kernels["b"].launches, kernels["b"].unsplit), (1, {"kernel": 1}))

    def test_a_trace_without_its_end_is_read_as_far_as_it_goes(self):
        whole = trace_of(launch("a", "split"), launch("b", "unsplit", "kernel"))
        self.assertEqual([name for name, _ in launches.read_trace(whole + "\n]\n")], ["a", "b"])
        self.assertEqual([name for name, _ in launches.read_trace(whole[:-5])], ["a"])

    def test_other_events_are_not_launches(self):
        self.assertEqual(launches.read_trace('[\n{"ph":"X","cat":"wait","name":"clFinish","args":{"how":"native"}},\n'), [])

    def test_records_of_several_processes_are_added_up(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for process in (1, 2):
                (folder / f"{process}.trace").write_text(trace_of(launch("a", "unsplit", "kernel")))
                (folder / f"{process}.json").write_text(json.dumps({"launches": 1, "kernels": [{"name": "a"}]}))
            kernels, total = launches.read_records(folder, cores=1)
        self.assertEqual((kernels["a"].launches, kernels["a"].unsplit, total), (2, {"kernel": 2}, 2))


class Comparison(unittest.TestCase):
    def results(self, status=0, output="same\n", content=b"same", keep=".*"):
        program = Program(name="p", command=("p",), results=("file",), keep=keep)
        with tempfile.TemporaryDirectory() as name:
            if content is not None:
                (Path(name) / "file").write_bytes(content)
            return comparison.results(program, status, output, Path(name))

    def test_equal_runs_do_not_differ(self):
        self.assertEqual(comparison.difference(self.results(), self.results()), "")

    def test_status_files_and_output_are_compared(self):
        native = self.results()
        self.assertIn("exit status 1", comparison.difference(native, self.results(status=1)))
        self.assertIn("contents of file differ", comparison.difference(native, self.results(content=b"other")))
        self.assertIn("file is missing", comparison.difference(native, self.results(content=None)))
        self.assertIn("'other', natively 'same'", comparison.difference(native, self.results(output="other\n")))
        self.assertIn("2 lines", comparison.difference(native, self.results(output="same\nsame\n")))

    def test_only_the_kept_part_of_lines_is_compared(self):
        native = self.results(output="PASSED a in 1 s\ntime 1\n", keep=r"PASSED \S+")
        self.assertEqual(native.output, ("PASSED a",))
        self.assertEqual(comparison.difference(native, self.results(output="PASSED a in 2 s\n", keep=r"PASSED \S+")), "")

    def test_a_run_that_fails_or_leaves_out_a_result_is_not_complete(self):
        self.assertTrue(comparison.is_complete(self.results()))
        self.assertFalse(comparison.is_complete(self.results(status=1)))
        self.assertFalse(comparison.is_complete(self.results(content=None)))


class Report(unittest.TestCase):
    def figures(self, *found, difference="", exceptions=None):
        run = Run(1, 0.5, comparison.Results(0, (), ()), difference, kernels=launches.count(found, cores=1))
        return report.figures(Program(name="p", command=("p",), exceptions=exceptions or {}), run)

    def test_the_least_share_of_the_splittable_launches_must_be_split(self):
        found = self.figures(*[launch("a", "split")] * 19, launch("b", "unsplit", "kernel"))
        self.assertEqual((found["launches"], found["splittable"], found["split"], found["share"]), (20, 20, 19, 95))
        self.assertTrue(report.has_reached(found, 95))
        self.assertFalse(report.has_reached(found, 95.5))

    def test_listed_exceptions_do_not_count_and_are_shown(self):
        found = self.figures(launch("a", "split"), launch("scan_2", "unsplit", "kernel"), exceptions={"scan_*": "it waits"})
        self.assertEqual(found["share"], 100)
        self.assertIn("scan_2: 1 kernel (listed as an exception)", "\n".join(report.kernel_lines(found)))

    def test_a_run_with_other_results_or_without_launches_has_not_reached_it(self):
        self.assertFalse(report.has_reached(self.figures(launch("a", "split"), difference="file is missing"), 0))
        self.assertFalse(report.has_reached(self.figures(), 0))

    def test_a_line_says_what_differs(self):
        self.assertTrue(report.line("p", "run", self.figures(difference="file is missing")).endswith("file is missing"))


class Environment(unittest.TestCase):
    def test_nothing_of_the_callers_settings_reaches_a_program(self):
        with tempfile.TemporaryDirectory() as name:
            with unittest.mock.patch.dict("os.environ", {"LD_PRELOAD": "x", "CLEAVE_VMS": "3"}):
                environment = ways.clean_environment(Path(name), unittest.mock.Mock(drivers=Path(name)), "pocl")
            self.assertTrue(Path(environment["XDG_CACHE_HOME"]).is_dir())
        self.assertEqual({"LD_PRELOAD", "CLEAVE_VMS"} & set(environment), set())
        self.assertEqual(environment["HOME"], name)


if __name__ == "__main__":
    unittest.main()
