"""The trace of a real program is JSON, prints nothing, has spans that nest, and as many slices as the statistics count."""

import json
from collections import defaultdict

from support.options import OPTIONS, main
from support.programs import ProgramTest


def program():
    return OPTIONS.programs / "opencl_hpp"


def spans(events):
    """(thread, begin, end, event) of all spans, pairs of begin and end events included. Times are in nanoseconds."""
    unfinished = defaultdict(list)
    for event in events:
        begin = round(event.get("ts", 0) * 1000)
        if event["ph"] == "X":
            yield event["tid"], begin, begin + round(event["dur"] * 1000), event
        elif event["ph"] == "B":
            unfinished[event["tid"]].append((begin, event))
        elif event["ph"] == "E":
            start, first = unfinished[event["tid"]].pop()
            yield event["tid"], start, begin, first
    assert not any(unfinished.values()), unfinished


class Trace(ProgramTest):
    def traced(self, *options, **settings):
        """Runs the program; returns the run and the events of its one trace."""
        trace = self.folder / f"{self.id()}.json"
        run = self.run_program("run", program(), options=(*options, "--trace", trace), **settings)
        self.assertSameOutput(self.run_native(program()), run)
        self.assertEqual(run.err, "")
        self.assertEqual(len(list(self.folder.glob(f"{trace.name}*"))), 1)
        return run, json.loads(trace.read_text(encoding="utf-8"))

    def assertNested(self, events):
        by_track = defaultdict(list)
        for track, begin, end, event in spans(events):
            self.assertLessEqual(begin, end, event)
            by_track[track].append((begin, -end, event))
        for track in by_track.values():
            around = []
            for begin, end, event in sorted(track, key=lambda span: span[:2]):
                while around and around[-1] <= begin:
                    around.pop()
                if around:
                    self.assertLessEqual(-end, around[-1], f"overlaps the enclosing span: {event}")
                around.append(-end)

    def launches(self, events):
        """The arguments of launches that the driver accepted."""
        return [event["args"] for event in events if event.get("cat") == "launch" and "error" not in event["args"]]

    def count(self, events, category):
        return sum(event.get("cat") == category for event in events)

    def test_agrees_with_the_statistics(self):
        run, events = self.traced("--vms", "5", "--alpha", "4", CLEAVE_MIN_ITEMS="0")
        self.assertGreater(run.total("split"), 0, run)
        self.assertEqual(self.count(events, "slice"), run.total("slices"), run)
        launches = self.launches(events)
        self.assertEqual(len(launches), run.total("launches"), run)
        self.assertEqual(sum(launch["decision"] == "split" for launch in launches), run.total("split"))
        self.assertEqual({event["args"]["VMs"] for event in events if event["ph"] == "C"}, {5})
        self.assertGreater(self.count(events, "wait"), 0)
        self.assertGreater(self.count(events, "device"), run.total("split"), "the program profiles its queue")
        self.assertNested(events)

    def test_modes_and_sleeping_waits_are_traced(self):
        for mode in ("sequential", "pipelined"):
            run, events = self.traced("--vms", "5", "--launch", mode, "--wait", "sleeping", CLEAVE_MIN_ITEMS="0")
            self.assertEqual(self.count(events, "slice"), run.total("slices"), run)
            self.assertIn(mode, {launch.get("mode") for launch in self.launches(events)})
            self.assertNested(events)

    def test_unsplit_launches_have_their_reason(self):
        run, events = self.traced("--vms", "1")
        self.assertEqual({launch["why"] for launch in self.launches(events)}, {"alone"}, run)


if __name__ == "__main__":
    main()
