"""The trace of a real program: JSON, nothing printed, spans that nest, and as many slices as the statistics count."""

import json
from collections import defaultdict

from compare import OPTIONS, ComparedTest, main


def program():
    return OPTIONS.programs / "typed"


def spans(events):
    """(thread, begin, end, event) of all spans, those in two halves put together. Times are in nanoseconds."""
    open_ones = defaultdict(list)
    for event in events:
        begin = round(event.get("ts", 0) * 1000)
        if event["ph"] == "X":
            yield event["tid"], begin, begin + round(event["dur"] * 1000), event
        elif event["ph"] == "B":
            open_ones[event["tid"]].append((begin, event))
        elif event["ph"] == "E":
            start, first = open_ones[event["tid"]].pop()
            yield event["tid"], start, begin, first
    assert not any(open_ones.values()), open_ones


class Trace(ComparedTest):
    def traced(self, *options, **settings):
        """Runs the program; gives the run and the events of its one trace."""
        trace = self.folder / f"{self.id()}.json"
        run = self.run_program("run", program(), options=(*options, "--trace", trace), **settings)
        self.assertSame(self.native(program()), run)
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
                    self.assertLessEqual(-end, around[-1], f"overlaps what is around it: {event}")
                around.append(-end)

    def launches(self, events):
        """What is said of launches that the driver took."""
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

    def test_modes_and_polite_waits(self):
        for mode in ("sequential", "pipelined"):
            run, events = self.traced("--vms", "5", "--launch", mode, "--wait", "sleeping", CLEAVE_MIN_ITEMS="0")
            self.assertEqual(self.count(events, "slice"), run.total("slices"), run)
            self.assertIn(mode, {launch.get("mode") for launch in self.launches(events)})
            self.assertNested(events)

    def test_whole_launches_have_their_reason(self):
        run, events = self.traced("--vms", "1")
        self.assertEqual({launch["why"] for launch in self.launches(events)}, {"alone"}, run)


if __name__ == "__main__":
    main()
