"""One time line: the traces of a remote program, its server and a local program on the same device become one file, in which
arrows lead from the program's calls to the device, in the order in which things happened."""

import contextlib
import json
import re
import shutil
import statistics
import subprocess
import threading
from collections import defaultdict

from support.options import OPTIONS, main
from support.processes import TIMEOUT, cleave
from support.remote import RemoteTest, Server

ELSEWHERE = ("unshare", "--time", "--monotonic", "1000")
PERIOD = 0.02  # seconds between the local program's rounds: their number is bounded, and so is its trace
LEAST_RUNS, RUNS = 3, 10


def begin_of(event):
    return round(event["ts"] * 1000)


class TimeLine(RemoteTest):
    @contextlib.contextmanager
    def neighbour(self, trace, environment):
        """A local program that launches on the same device all the while."""
        command = (OPTIONS.cleave, "run", "--trace", trace, "--", OPTIONS.programs / "turn_taker", 0, "paired")
        local = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        over = threading.Event()
        lines = []

        def play():
            with contextlib.suppress(BrokenPipeError):  # it has been killed
                while not lines or lines[-1] == "next\n" and not over.wait(PERIOD):
                    local.stdin.write("go\n")
                    local.stdin.flush()
                    lines.append(local.stdout.readline())
                    began.set()

        began = threading.Event()
        player = threading.Thread(target=play)
        player.start()
        watchdog = threading.Timer(TIMEOUT, local.kill)
        watchdog.start()
        try:
            began.wait()
            yield
        finally:
            over.set()
            player.join()
            with contextlib.suppress(BrokenPipeError):
                local.stdin.close()
            local.wait()
            watchdog.cancel()
            local.stdout.close()
        self.assertEqual((local.returncode, set(lines)), (2, {"next\n"}), "its input has ended")

    def merge(self, *files):
        out = self.own_folder() / "merged.json"
        done = cleave("trace", "merge", str(out), *map(str, files), environment=self.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(out.read_text(encoding="utf-8")), done.stdout

    def traces_of(self, prefix=()):
        """Of a remote program that profiles its queue, its server, and a local program alongside it."""
        folder = self.own_folder()
        traces = folder / "server-traces"
        traces.mkdir()
        registry = folder / "registry"
        turns = {"CLEAVE_TURNS": "on", "CLEAVE_REGISTRY": str(registry), "CLEAVE_MIN_ITEMS": "0"}
        environment = self.environment(**turns)
        server = Server(folder / "server", environment, "--trace", str(traces), prefix=prefix)
        self.addCleanup(server.stop)
        native = self.run_native(*OPTIONS.program)
        with self.neighbour(folder / "local.json", environment):
            run = self.run_remotely("run", server.addresses["tcp"], *OPTIONS.program,
                                    CLEAVE_TRACE=folder / "program.json")
        self.assertSameOutput(native, run)
        server.stop()
        (session,) = traces.glob("*.json")
        self.assertEqual(session.stat().st_mode & 0o777, 0o600)
        return [folder / "program.json", folder / "program.json.remote", session, folder / "local.json"]

    def check(self, events, error):
        """`error`: of the alignment, in ns. Returns the arrows, each as its events."""
        spans = defaultdict(list)
        arrows = defaultdict(list)
        last = -1 << 62
        for event in events:
            if "ts" in event:
                self.assertGreaterEqual(begin_of(event), last, "sorted")
                last = begin_of(event)
            if event["ph"] == "X":
                spans[event["pid"], event["tid"], begin_of(event)].append(event)
            elif event["ph"] in "stf":
                arrows[event["id"]].append(event)
        ends = defaultdict(int)
        for arrow in arrows.values():
            arrow.sort(key=lambda event: "stf".index(event["ph"]))
            self.assertEqual([arrow[0]["ph"], arrow[-1]["ph"]], ["s", "f"], arrow)
            places = [spans[event["pid"], event["tid"], begin_of(event)] for event in arrow]
            self.assertTrue(all(places), f"an arrow from or to nothing: {arrow}")
            begins = [begin_of(event) for event in arrow]
            for before, after in zip(begins, begins[1:]):
                self.assertLessEqual(before, after + error, arrow)
            first = {span["cat"] for span in places[0]}
            end = {span["cat"] for span in places[-1]}
            for category in ("device", "turn", "request"):
                ends[("call" if "call" in first else "launch", category)] += category in end
        return ends

    def test_arrows_lead_from_calls_to_the_device_in_their_order(self):
        files = self.traces_of()
        events, said = self.merge(*files)
        self.assertNotIn("aligned", said, "one clock")
        ends = self.check(events, 0)
        self.assertGreater(ends["call", "device"], 0, ends)
        self.assertGreater(ends["call", "request"], 0, ends)
        names = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
        self.assertTrue(any(name.startswith("devices of ") for name in names), names)
        holders = {event["args"]["process"] for event in events if event.get("cat") == "holder"}
        self.assertEqual(len(holders), 2, "the device's row")
        # A file that a killed program has left may be merged as well.
        cut = files[1].with_suffix(".cut")
        cut.write_bytes(files[1].read_bytes()[:-40])
        self.check(self.merge(cut, *files[2:])[0], 0)

    def test_clocks_of_two_hosts_are_aligned(self):
        if shutil.which("unshare") is None or subprocess.run((*ELSEWHERE, "true"), capture_output=True).returncode != 0:
            self.skipTest("no time namespaces here: a server with another clock cannot be had")
        files = self.traces_of(ELSEWHERE)
        events, said = self.merge(*files)
        (alignment,) = [event["args"] for event in events if event.get("name") == "cleave_alignment"]
        self.assertIn("exchanges, within", said)
        self.assertLessEqual(abs(alignment["ahead_ns"] - 1000 * 10**9), alignment["error_ns"], "the bound holds")
        ends = self.check(events, alignment["error_ns"])
        self.assertGreater(ends["call", "device"], 0, ends)
        done = cleave("trace", "merge", str(self.own_folder() / "none"), str(files[0]), str(files[2]),
                      environment=self.environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be aligned", done.stderr)

    def test_tracing_adds_no_round_trips(self):
        """The messages of a traced program that request an answer are no more than those of one that is not. Some depend on the moment,
        on a busy machine more: of the traced runs the one with the fewest counts, of the others the one in the middle."""
        traces = self.own_folder() / "traces"
        traces.mkdir()
        servers = {trace: self.start_server(f"counted{bool(trace)}", *(("--trace", str(traces)) if trace else ()))
                   for trace in ("", str(self.own_folder() / "counted.json"))}
        counts = {trace: [] for trace in servers}
        for number in range(1, RUNS + 1):
            for trace, server in servers.items():
                self.run_remotely("native", server.addresses["tcp"], *OPTIONS.program, CLEAVE_TRACE=trace)
                server.wait_for_log(" commands)", number)
                counts[trace] = [int(count) for count in re.findall(r"(\d+) commands\)", server.text())]
            plain, traced = counts.values()
            if number >= LEAST_RUNS and min(traced) <= statistics.median_low(plain):
                return
        self.fail(f"commands without Pings: {counts}")


if __name__ == "__main__":
    main()
