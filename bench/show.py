"""Shows what Cleave does to one program: a matrix product without Cleave, alone on its host, and with five VMs.

usage: show.py BUILD_FOLDER [N] [REPEATS]

The three are run alternately, REPEATS times each, and the medians are compared, so that what else the machine does meanwhile
hits all of them alike. The results must be the same to the last bit, or the exit status is 1.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

VARIANTS = (("without Cleave", None), ("alone", 1), ("5 VMs", 5))


def run(build, vms, n, folder):
    """Runs the product once; returns the seconds it took, its result and the slices it was made of."""
    result, stats = folder / "result", folder / "stats"
    command = [build / "bench" / "matmul", str(n), "1", "--platform", "Portable", "--output", result]
    if vms is not None:
        command = [build / "bin" / "cleave", "run", "--vms", str(vms), f"--stats={stats}", "--", *command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CLEAVE_")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds = float(re.search(r"seconds=([0-9.]+)", done.stdout)[1])
    if vms is None:
        return seconds, result.read_bytes(), None
    kernel = json.loads(stats.read_text())["kernels"][0]
    whole = kernel["launches"] - kernel["split"]
    return seconds, result.read_bytes(), (kernel["slices"] + whole) // kernel["launches"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1536
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    seconds = {name: [] for name, _ in VARIANTS}
    slices, identical, first = {}, {}, None
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for name, vms in VARIANTS:
                took, result, slices[name] = run(build, vms, n, pathlib.Path(folder))
                seconds[name].append(took)
                first = first or result
                identical[name] = identical.get(name, True) and result == first
    base = statistics.median(seconds[VARIANTS[0][0]])
    print(f"\n{n}x{n} matrix product on PoCL, medians of {repeats}\n")
    print(f"{'':16}{'slices':>8}{'time':>12}{'ratio':>8}   results identical")
    for name, _ in VARIANTS:
        median = statistics.median(seconds[name])
        print(f"{name:16}{slices[name] or 1:>8}{median:>10.3f} s{median / base:>8.3f}   "
              f"{'yes' if identical[name] else 'NO'}")
    split = slices["alone"] == 1 and slices["5 VMs"] == 20
    if not split:
        print("\nThe launches were not split as they should have been.", file=sys.stderr)
    return 0 if split and all(identical.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
