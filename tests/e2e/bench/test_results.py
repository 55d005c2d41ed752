"""The results of the suites: stored, compared, and shared among programs; no measurement."""

import contextlib
import io
import math
import os
import socket
import subprocess
import sys
import time
import unittest
from unittest import mock

from bench_modules import clients, compare, isolation, neighbours, pressure_monitor, results
from support.options import main
from support.processes import FolderTest, cleave

Results, Row = results.Results, results.Row
MACHINE = {"device": "a device", "cores": 2, "cleave": "cleave 0.1.0"}


def found(*rows):
    return Results("split", MACHINE, list(rows))


class Stored(FolderTest):
    def keep(self, name, results_):
        with contextlib.redirect_stderr(io.StringIO()):
            results.keep(results_, self.folder / name)
        return self.folder / name

    def test_results_are_read_as_they_were_written(self):
        before = found(Row("queued", "a product", 1.5, baseline=20, spread=0.1, slices=4, kernel="product"))
        self.assertEqual(results.load(self.keep("kept", before)), before)

    def test_file_without_results_is_named(self):
        file = self.folder / "else"
        file.write_text("[]")
        done = cleave("bench", "compare", file, file)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{file} holds no results", done.stderr)

    def test_compare_distinguishes_differences_from_spreads(self):
        first = self.keep("a", found(Row("p", "same", 1, spread=0.1), Row("p", "more", 1, spread=0.1), Row("p", "gone", 1)))
        second = self.keep("b", found(Row("p", "same", 1.2, spread=0.1), Row("p", "more", 2, spread=0.1), Row("p", "new", 1)))
        done = cleave("bench", "compare", first, second)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = {line.split("|")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("|")}
        self.assertIn("within the spreads", lines["same"])
        self.assertRegex(lines["more"], r"\| 2\.000 \| more ")
        self.assertIn("only in A: gone: 1\nonly in B: new: 1\n", done.stdout)

    def test_compare_without_spreads_has_no_verdict(self):
        self.assertEqual(compare.verdict(Row("p", "a", 1), Row("p", "a", 2)), "no spread known")

    def test_table_omits_empty_columns(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            results.print_table(found(Row("p", "what", 1, claim="up to 20 % faster"), Row("p", "else", 2, "ns", spread=0.5)))
        title = shown.getvalue().split("\n\n")[1].splitlines()[0]
        self.assertEqual([cell.strip() for cell in title.strip("|").split("|")], ["", "measured", "spread", "the paper"])


class Clients(unittest.TestCase):
    def test_percentile_is_the_smallest_value_that_so_many_do_not_exceed(self):
        self.assertEqual(clients.percentile(range(1, 201), 99), 198)
        self.assertEqual(clients.percentile([3, 1, 2], 99), 3)
        self.assertEqual(clients.percentile([5], 50), 5)

    def test_all_clients_end_if_one_does_not_start(self):
        started = []

        class Deaf(clients.Client):
            def __init__(self, *_):
                words = "read line" if started else "echo ready; read line"
                self.process = subprocess.Popen(["sh", "-c", f"{words}; exec sleep 60"], stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, text=True)
                if started:
                    self.process.kill()
                started.append(self.process)

        with mock.patch.object(clients, "Client", Deaf), self.assertRaises(results.Unmeasured):
            clients.run_all(None, [(), ()], None)
        for process in started:
            self.assertLess(process.wait(10), 0)
            process.stdout.close()


class Sharing(unittest.TestCase):
    def test_only_products_within_the_window_count(self):
        output = "1.0 2.0\n2.0 3.0\n3.0 5.0\n5.0 9.0\n9."
        self.assertEqual(neighbours.product(output, (1.5, 6)), 1500)
        self.assertEqual(neighbours.product(output, (20, 30)), 2000)
        with self.assertRaises(results.Unmeasured):
            neighbours.product("", (0, 1))

    def test_all_neighbours_end_if_one_cannot_be_started(self):
        processes = []

        class Full:
            def start(self, *_, **__):
                if len(processes) == 2:
                    raise results.Unmeasured("no third")
                processes.append(subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, text=True))
                return processes[-1]

        bench = neighbours.Bench.__new__(neighbours.Bench)
        bench.isolation, bench.size = Full(), 64
        with self.assertRaises(results.Unmeasured):
            bench.share(3, neighbours.WITHOUT_JOB)
        for process in processes:
            self.assertLess(process.wait(10), 0)
            process.stdout.close()

    def test_plain_processes_are_pinned(self):
        core = min(os.sched_getaffinity(0))
        show = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
        isolated = isolation.Processes({core})
        done = subprocess.run(show, preexec_fn=isolated.preexec("one"), stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout.strip(), str({core}))

    @unittest.skipUnless(isolation.Groups.usable(), "no control groups with a weight can be made here")
    def test_groups_hold_one_program_each_and_are_removed(self):
        isolated = isolation.Groups(os.sched_getaffinity(0))
        try:
            done = [subprocess.run(["cat", "/proc/self/cgroup"], preexec_fn=isolated.preexec(name), stdout=subprocess.PIPE,
                                   text=True, check=True).stdout for name in ("one", "two")]
        finally:
            isolated.close()
        self.assertIn(f"/{isolated.folder.name}/one\n", done[0])
        self.assertIn(f"/{isolated.folder.name}/two\n", done[1])
        self.assertFalse(isolated.folder.exists())


class Pressure(unittest.TestCase):
    def test_meter_has_the_daemons_formula(self):
        """The figures are those of tests/unit/monitor/pressure_test.cpp."""
        meter = pressure_monitor.Meter()
        meter.sample({1: (10, 5), 2: (3, 0)}, 1000)
        self.assertIsNone(meter.pressure)
        meter.sample({1: (10.6, 5.3), 2: (3.1, 0)}, 1001)
        self.assertAlmostEqual(meter.pressure, 0.3)
        meter.sample({1: (10.6, 6.3), 3: (900, 900)}, 1002)  # waits all the time; a new one does not count yet
        self.assertAlmostEqual(meter.pressure, 0.3 + (1 - math.exp(-1)) * 0.7)
        self.assertEqual([(begin, end, round(ran, 6), round(waited, 6)) for begin, end, ran, waited in meter.intervals],
                         [(1000, 1001, 0.7, 0.3), (1001, 1002, 0, 1)])
        idle = pressure_monitor.Meter()
        idle.sample({1: (10, 5)}, 1000)
        idle.sample({1: (10.001, 5.001)}, 1001)
        self.assertAlmostEqual(idle.pressure, 0.001 / 0.05)

    @unittest.skipUnless(pressure_monitor.StandIn.usable(), "the kernel does not count how long threads wait")
    def test_stand_in_says_the_pressure_of_the_processes_it_follows(self):
        core = {min(os.sched_getaffinity(0))}
        monitor = pressure_monitor.StandIn()
        self.addCleanup(monitor.close)
        both = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, core))
                for _ in range(2)]
        for each in both:
            self.addCleanup(each.wait)
            self.addCleanup(each.kill)
        monitor.follow(both)
        begun = time.monotonic()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(monitor.address.removeprefix("unix:"))
            with connection.makefile() as lines:
                self.assertEqual(lines.readline(), "cleave-monitor 1 heartbeat=2000\n")
                said = 0
                while said < 300:  # at least a half of it, as they share a core
                    line = lines.readline()
                    self.assertRegex(line, r"^count \d+ 3 3( pressure=\d+)?\n$")
                    said = int(line.partition("pressure=")[2] or 0)
        self.assertGreater(monitor.stretch((begun, time.monotonic())), 1.4)
        self.assertIsNone(monitor.stretch((begun - 10, begun)))

    def test_points_are_compared_with_the_curve_of_fixed_numbers(self):
        found = results.Results("neighbours", {})
        places = {"fixed": [(1, 1.5), (1.02, 1.2), (1.1, 1.1)], "pressure": [(1.05, 1.08)], "budget": [(0.99, 1.8)]}
        for policy, pairs in places.items():
            for job, beside in pairs:
                for part, value in (("loss job", job), ("loss neighbours", beside)):
                    found.rows.append(results.Row(part, policy, value, baseline=10, spread=0.01, neighbours=2, policy=policy))
        for policy in ("pressure", "budget"):
            neighbours.compare_with_fixed(found, 2, policy)
        below, above = found.of("to fixed")
        self.assertAlmostEqual(below.value, 1.08 / 1.2)
        self.assertEqual(below.note, "on or below")
        self.assertAlmostEqual(above.value, 1.8 / 1.5)
        self.assertEqual(above.note, "above")


if __name__ == "__main__":
    main()
