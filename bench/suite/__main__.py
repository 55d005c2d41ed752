"""Cleave's benchmarks: `cleave bench`.

    cleave bench gpu [--platform NVIDIA] [--results FOLDER] [--quick]     measures, prints a table, keeps JSON and a picture
    cleave bench plot FOLDER/gpu.json                                     makes the picture again

Everything is compared with a run of the same program without Cleave, in turns, within this run. The exit status is 0 if
everything could be measured and every result was the native one, whether or not the figures are those that are asked for.
"""

import argparse
import pathlib
import sys

import gpu
import plots
import results


def arguments():
    parser = argparse.ArgumentParser(
        prog="cleave bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    suite = commands.add_parser("gpu", help="pipelined launches, waits, policies on one GPU")
    suite.add_argument("--platform", default="NVIDIA", help="part of the platform's name (NVIDIA)")
    suite.add_argument("--quick", action="store_true", help="small sizes, few repeats: a try on a processor")
    suite.add_argument("--only", action="append", metavar="PART", choices=[name for name, _ in gpu.PARTS],
                       help=f"one of {', '.join(name for name, _ in gpu.PARTS)}; may be repeated")
    suite.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"),
                       help="where the JSON and the picture go (./results)")
    again = commands.add_parser("plot", help="the picture of results that were kept")
    again.add_argument("file", type=pathlib.Path)
    return parser.parse_args()


def main():
    given = arguments()
    if given.suite == "plot":
        found = results.load(given.file)
        plots.draw(found, given.file.with_suffix(".png"))
        return 0
    given.results.mkdir(parents=True, exist_ok=True)
    found = gpu.measure(given)
    results.print_table(found)
    kept = given.results / "gpu.json"
    results.keep(found, kept)
    plots.draw(found, kept.with_suffix(".png"))
    return 0 if found.sound else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except results.Unmeasured as why:
        print(f"cleave bench: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
