"""What Cleave recorded of a run: the launches in its traces, and the totals in its statistics.

A launch *could be split* if it has more work-items than the device has cores (as `cleave doctor` counts them) and more than
one work-group. Where the program leaves the local size open, the driver chooses it: such a launch counts as one of a single
group if Cleave found that (`one_group`), or if it is so small that any driver makes one group of it.
"""

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field


ONE_GROUP_ITEMS = 64  # the widest hardware group in use; with fewer work-items more groups would only idle


@dataclass
class Kernel:
    launches: int = 0
    splittable: int = 0
    split: int = 0  # of those that could be
    unsplit: Counter = field(default_factory=Counter)  # by reason, of those that could be split
    causes: set = field(default_factory=set)  # what the statistics say of it in words


def could_be_split(global_size, local_size, reason, cores):
    if math.prod(global_size) <= cores:
        return False
    if local_size is None:
        return reason != "one_group" and math.prod(global_size) >= ONE_GROUP_ITEMS
    groups = math.prod(-(-whole // part) for whole, part in zip(global_size, local_size))
    return groups > 1


def read_trace(text):
    """The launches of one trace file, which may lack its end, as the events' names and arguments."""
    events = [_parsed(line) for line in text.splitlines()]
    return [(event["name"], event["args"]) for event in events
            if event and event.get("cat") == "launch" and "decision" in event.get("args", {})]


def _parsed(line):
    try:
        return json.loads(line.strip().lstrip("[").rstrip(",]"))
    except json.JSONDecodeError:  # the brackets, and a line that was being written when the process was killed
        return None


def count(launches, cores):
    """The kernels of these launches, by name."""
    kernels = defaultdict(Kernel)
    for name, arguments in launches:
        if arguments.get("error"):
            continue
        kernel = kernels[name]
        kernel.launches += 1
        split = arguments["decision"] == "split"
        if not split and not could_be_split(arguments.get("global") or [1], arguments.get("local"), arguments.get("why"), cores):
            continue
        kernel.splittable += 1
        kernel.split += split
        if not split:
            kernel.unsplit[arguments["why"]] += 1
    return dict(kernels)


def read_records(folder, cores):
    """The kernels of all processes of a run, by name, and the sum of `launches` in the statistics that they wrote."""
    launches = [launch for trace in sorted(folder.glob("*.trace*")) for launch in read_trace(trace.read_text(errors="replace"))]
    kernels = count(launches, cores)
    total = 0
    for file in folder.glob("*.json"):
        statistics = json.loads(file.read_text())
        total += statistics["launches"]
        for kernel in statistics["kernels"]:
            if kernel["name"] in kernels:
                kernels[kernel["name"]].causes.update(causes_of(kernel))
    return kernels, total


def causes_of(kernel):
    """The sentences in which the statistics say what keeps a kernel whole."""
    for cause in kernel.get("causes", ()):
        for finding in cause["findings"] or [{"text": cause["cause"]}]:
            yield f"{cause['reason']}: {finding['text']}"
