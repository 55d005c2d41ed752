"""Every suite's results become a picture, with the Python that can make it."""

import contextlib
import io
import os
import sys

from bench_modules import isolation, results, share, turns  # noqa: F401
from support.options import main
from support.processes import FolderTest, clean_environment, cleave

import plots

Row = results.Row
MACHINE = {"device": "a device", "processor": "a processor", "cores": 2, "cleave": "cleave 0.1.0", "neighbours": 512,
           "isolation": "isolated", "shared cores": 2, "mode": "queued", "clients": 4, "long": "1 s", "short": "1 ms"}
PNG = b"\x89PNG\r\n\x1a\n"


def over_slices(part, **more):
    return [Row(part, f"{part} in {slices}", 1 + slices / 100, baseline=1, spread=0.1, slices=slices, **more) for slices in (1, 4, 20)]


def over_neighbours(part, **more):
    return [row for count in (1, 2) for row in over_slices(part, neighbours=count, **more)]


ROWS = {
    "clients": [Row("short", "short: natively", 2, "ms", spread=0.1), Row("short", "short: in turns", 1, "ms", baseline=2, asked=3)],
    "gpu": over_slices("product", asked=1.05) + over_slices("product with events") + over_slices("waits beside it")
    + [Row("others", "a copy", 1.01, asked=1.02), Row("waiting", "clFinish", 0.1, "s", baseline=1)],
    "micro": over_slices("slices") + over_slices("slices with an event")
    + [Row("calls", "a call", 2, "ns", asked=20), Row("start", "a start", 3, "ms", asked=5)],
    "neighbours": [row for part in ("fig2", "fig6 neighbours", "fig6 without", "fig6 job", "processor")
                   for row in [Row(part, f"{part} {n}", 1.1, baseline=10, spread=0.1, neighbours=n, note="α 4, 20 groups")
                               for n in (1, 2)]]
    + over_neighbours("fig4") + over_neighbours("fig5") + [Row("many", "in 500 groups", 1.2, spread=0.1)],
    "remote": [Row("offload", "1 Mbit/s, 10 ms: product 32", 450, "us", baseline=120),
               Row("offload", "1 Mbit/s, 10 ms: product 64", 700, "us", baseline=900),
               Row("offload", "1 Mbit/s, 10 ms: break-even", 64, "rows"), Row("tcp", "tcp: enqueue and finish", 30, "us", baseline=10, asked=50), Row("tcp", "tcp: 1 MiB", 300, "us", baseline=90),
               Row("tcp", "tcp: product, rows 256", 3, "ms", baseline=2), Row("unix", "unix: product, rows 256", 3, "ms", baseline=2)],
    "share": [Row(part, f"{part}: {way}", 1.5, spread=0.1, neighbours=1, kernel="convnet products", policy=way)
              for part in ("P99", "done") for way in share.WAYS]
    + [Row("alone", "convnet", 1.01, spread=0.01, kernel="convnet", neighbours=0)],
    "split": [row for mode in ("sequential", "queued", "pipelined", "by default") for row in over_slices(mode, kernel="a kernel")],
    "turns": [Row(f"{kind} P99", f"{kind}, {n} jobs: {way}", n, spread=0.1, neighbours=n) for kind in turns.CLIENTS
              for way in (turns.NATIVE, turns.TURNS) for n in (1, 4)] + [Row("weights", "a half", 0.5, asked=0.5)],
}


class Pictures(FolderTest):
    def keep(self, suite):
        with contextlib.redirect_stderr(io.StringIO()):
            results.keep(results.Results(suite, MACHINE, ROWS[suite]), self.folder / f"{suite}.json")
        return self.folder / f"{suite}.json"

    def assertDrawn(self, kept, **environment):
        done = cleave("bench", "plot", kept, environment=clean_environment(**environment))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        picture = kept.with_suffix(".png")
        self.assertIn(f"drawn in {picture}", done.stderr)
        self.assertTrue(picture.read_bytes().startswith(PNG))

    def test_of_every_suite(self):
        self.assertEqual(set(ROWS), set(plots.SUITES))
        for suite in plots.SUITES:
            with self.subTest(suite):
                self.assertDrawn(self.keep(suite))

    def test_python_without_matplotlib_is_passed_over(self):
        unable = self.folder / "unable"
        unable.mkdir()
        (unable / "python3").write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
        (unable / "python3").chmod(0o755)
        self.assertDrawn(self.keep("micro"), PATH=f"{unable}:{os.environ['PATH']}")


if __name__ == "__main__":
    main()
