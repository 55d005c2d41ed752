"""One of several programs that share a device: what all roles of this folder have in common.

    SCRIPT latency|throughput [--platform PART] [--quick] [--reference]

It says on its standard output, one line of JSON each: that it is ready, or why the program cannot be had (exit status 3); and what it
has measured in each window. It reads on its standard input, one line each:

    run PERIOD SECONDS    (latency) requests, one every PERIOD seconds, for so long
    run                   (throughput) units of work without a pause, until the next line

and ends with its input. Times are seconds of the system's monotonic clock. The exit status is 1 if a result was wrong.

A request's latency counts from when it is due, so that it holds what a late one before it has cost. Requests that are due while one is
still running are begun right after it only if that is less than a period late; the others are left out and counted as missed.
"""

import argparse
import hashlib
import json
import os
import resource
import select
import sys
import time

UNAVAILABLE = 3


def say(**words):
    os.write(3, f"{json.dumps(words)}\n".encode())


def keep_output():
    """Only say() writes to the standard output; whatever else would goes to the standard error."""
    os.dup2(1, 3)
    os.dup2(2, 1)


class Unavailable(Exception):
    """Why this program cannot be had here."""


class Input:
    """Lines of the standard input, which can be awaited and looked for."""

    def __init__(self):
        self.rest = b""

    def waiting(self):
        return b"\n" in self.rest or bool(select.select([0], [], [], 0)[0])

    def line(self):
        """The next one, or none at the end."""
        while b"\n" not in self.rest:
            more = os.read(0, 4096)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode().split()


def digest(result):
    return hashlib.sha256(bytes(result)).hexdigest()


class Units:
    """Work in units. `unit(i)` does one of the kind i, which follow each other, and returns its result. `same` compares a result with the first
    one of its kind; by default they must be identical. `right` says whether the first ones are right, by another way to them.
    Results that are not identical are compared between processes by `values`."""

    def __init__(self, device, unit, kinds=1, same=None, right=lambda first: True, values=None):
        self.device, self.unit, self.kinds = device, unit, kinds
        self.right = lambda: right(self.first)
        self.same = same or (lambda result, first: bytes(result) == bytes(first))
        self.done = self.wrong = 0
        self.first = [unit(i) for i in range(kinds)]
        for _ in range(2 * kinds):
            self.next()
        self.values = values(self.first) if values else None

    def result(self):
        return {"values": self.values} if self.values else {"digest": digest(b"".join(map(bytes, self.first)))}

    def next(self):
        kind = self.done % self.kinds
        self.wrong += not self.same(self.unit(kind), self.first[kind])
        self.done += 1

    def work(self, stopped):
        begin, ends = time.monotonic(), []
        while not stopped():
            self.next()
            ends.append(time.monotonic())
        return {"begin": begin, "ends": ends}

    def answer(self, period, seconds):
        begin = time.monotonic()
        due, latencies, missed = begin, [], 0
        while due < begin + seconds:
            time.sleep(max(0, due - time.monotonic()))
            self.next()
            now = time.monotonic()
            latencies.append(1e3 * (now - due))
            due += period
            while due < now - period:
                due, missed = due + period, missed + 1
        return {"begin": begin, "latencies": latencies, "missed": missed}

    def close(self):
        pass


def processor():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def serve(kind, program):
    lines = Input()
    wrong = program.wrong
    say(ready=True, device=program.device, wrong=wrong, result=program.result())
    while (words := lines.line()) is not None:
        used = processor()
        if kind == "latency":
            found = program.answer(*map(float, words[1:]))
        else:
            say(begun=True)
            found = program.work(lines.waiting)
            lines.line()
        say(**found, end=time.monotonic(), processor=1e3 * (processor() - used), wrong=program.wrong - wrong)
        wrong = program.wrong
    program.close()
    return 1 if program.wrong else 0


def main(prepare, needs=()):
    """`prepare(given)` makes the program ready and returns its work, as Units; `needs` are the modules it imports."""
    parser = argparse.ArgumentParser(description=prepare.__doc__)
    parser.add_argument("kind", choices=("latency", "throughput"))
    parser.add_argument("--platform", default="", help="part of the platform's name")
    parser.add_argument("--quick", action="store_true", help="small sizes: a try on a processor")
    parser.add_argument("--reference", action="store_true", help="compare the first results with those of another way to them")
    given = parser.parse_args()
    keep_output()
    try:
        for module in needs:
            __import__(module)
        program = prepare(given)
    except (ImportError, OSError, Unavailable) as why:
        say(unavailable=str(why) or type(why).__name__)
        sys.exit(UNAVAILABLE)
    if given.reference and not program.right():
        print(f"{sys.argv[0]}: the results are wrong", file=sys.stderr)
        sys.exit(1)
    sys.exit(serve(given.kind, program))


def device_of(given):
    """PyOpenCL's device: of the platform with that part in its name; the first GPU of it, else its first device."""
    import pyopencl

    platforms = [each for each in pyopencl.get_platforms() if given.platform in each.name]
    devices = [device for platform in platforms for device in platform.get_devices()]
    if not devices:
        raise Unavailable(f"no OpenCL platform with {given.platform!r} in its name")
    return next((device for device in devices if device.type & pyopencl.device_type.GPU), devices[0])
