"""Programs that are started once and then run in one window after the other, in the protocol of bench/share/role.py."""

import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import programs
from results import Unmeasured
from turns import work_within

SETTLING = 0.2  # seconds in which the others are at work before anything counts
STARTING, ENDING = 240, 120  # seconds
LONGEST_REASON = 240  # characters of why a program cannot be had


@dataclass
class Window:
    """What programs measured at the same time, in the order in which they were named, and the seconds that count."""

    outputs: list
    begin: float
    end: float

    def rate(self, i):
        """Units of work per second."""
        output = self.outputs[i]
        return work_within(output["begin"], output["ends"], self.begin, self.end, output.get("amounts")) / (self.end - self.begin)

    def latencies(self, i=0):
        return self.outputs[i]["latencies"]


class Absent(Exception):
    """A program cannot be had here."""


def command():
    return programs.library().parent.parent.parent / "bin" / "cleave"


class Resident:
    """A program that is started once, and runs in one window after the other."""

    def __init__(self, words, settings, under):
        self.name = pathlib.Path(words[0]).stem
        self.stats = pathlib.Path(settings["CLEAVE_STATS"].replace("%p", "*")) if under else None
        line = [*([command(), "run", "--"] if under else []), sys.executable, *words]
        # In a session of its own, so that what it has started ends with it.
        self.process = subprocess.Popen(list(map(str, line)), env=programs.environment(settings), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
        self.rest = b""

    def heard(self, limit):
        """The next thing that it says."""
        until = time.monotonic() + limit
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Unmeasured(f"{self.name} has said nothing for {limit} s")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise Unmeasured(f"{self.name} ended with exit status {self.process.wait()}")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def await_ready(self):
        said = self.heard(STARTING)
        if "unavailable" in said:
            raise Absent(" ".join(said["unavailable"].split())[:LONGEST_REASON])
        return said

    def tell(self, *words):
        try:
            self.process.stdin.write(f"{' '.join(map(str, words))}\n".encode())
        except BrokenPipeError:
            pass  # heard() says how it ended

    def launches(self):
        """How many it made under Cleave, as its statistics say once it has ended."""
        found = [json.loads(file.read_text()) for file in self.stats.parent.glob(self.stats.name)]
        return sum(one["launches"] for one in found)

    def end(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        return self.process.wait()


def measured(leading, others, period, seconds):
    """A window of these: `leading` answers requests, if it is there, while the others work."""
    for other in others:
        other.tell("run")
    for other in others:
        other.heard(ENDING)
    time.sleep(SETTLING if others else 0)
    outputs, begin = [], time.monotonic()
    if leading:
        leading.tell("run", period, seconds)
        outputs.append(leading.heard(seconds + ENDING))
        begin = outputs[0]["begin"]
    else:
        time.sleep(seconds)
    end = outputs[0]["end"] if leading else time.monotonic()
    for other in others:
        other.tell("stop")
    return Window([*outputs, *(other.heard(ENDING) for other in others)], begin, end)
