"""Cleave's benchmarks: `cleave bench`.

    cleave bench split         every kernel whole and in slices, in every mode
    cleave bench micro         what a call, a launch and a slice cost
    cleave bench neighbours    the paper's experiment: a job on the device beside 1 to 4 neighbours on the same cores
    cleave bench gpu           pipelined launches, waits and policies on one GPU
    cleave bench plot FILE     makes the picture of kept results again

Every suite prints a table and keeps JSON and a picture in a folder (--results). Everything is compared with a run of the same
program without Cleave, in turns, within this run. The exit status is 0 if everything could be measured and every result was
the native one, whether or not the figures are those that are asked for.
"""

import argparse
import pathlib
import sys

import gpu
import grounds
import micro
import neighbours
import plots
import results
import split

SUITES = {"micro": micro, "split": split, "neighbours": neighbours, "gpu": gpu}


def add_suite(commands, name, words, platform=""):
    suite = commands.add_parser(name, help=words, description=SUITES[name].__doc__)
    suite.add_argument("--platform", default=platform,
                       help=f"part of the platform's name ({platform or 'that of the first GPU, else of the first device'})")
    suite.add_argument("--quick", action="store_true", help="small sizes, few repeats: a try on a processor")
    suite.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"),
                       help="where the JSON and the picture go (./results)")
    return suite


def arguments():
    parser = argparse.ArgumentParser(
        prog="cleave bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    add_suite(commands, "micro", "what a call, a launch and a slice cost")
    add_suite(commands, "split", "every kernel whole and in slices")
    suite = add_suite(commands, "neighbours", "the paper's experiment")
    suite.add_argument("--ground", default="auto", choices=["auto", *(ground.name for ground in grounds.GROUNDS)],
                       help="what the job and its neighbours run in (the fairest that can be had)")
    suite.add_argument("--cores", type=int, default=4, help="how many cores of the host they share (4)")
    suite.add_argument("--mode", default="auto", choices=["auto", "sequential", "queued", "pipelined"],
                       help="how the job's slices are launched: as Cleave does by itself (auto); the paper: sequential")
    suite = add_suite(commands, "gpu", "pipelined launches, waits, policies on one GPU", "NVIDIA")
    suite.add_argument("--only", action="append", metavar="PART", choices=[name for name, _ in gpu.PARTS],
                       help=f"one of {', '.join(name for name, _ in gpu.PARTS)}; may be repeated")
    again = commands.add_parser("plot", help="the picture of results that were kept")
    again.add_argument("file", type=pathlib.Path)
    return parser.parse_args()


def measure(name, given):
    """One suite: its table, its JSON, its picture. Whether every result was right."""
    given.results.mkdir(parents=True, exist_ok=True)
    found = SUITES[name].measure(given)
    results.print_table(found)
    kept = given.results / f"{name}.json"
    results.keep(found, kept)
    plots.draw(found, kept.with_suffix(".png"))
    return found.sound


def main():
    given = arguments()
    if given.suite == "plot":
        plots.draw(results.load(given.file), given.file.with_suffix(".png"))
        return 0
    return 0 if measure(given.suite, given) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except results.Unmeasured as why:
        print(f"cleave bench: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
