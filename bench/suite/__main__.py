"""Cleave's benchmarks: `cleave bench`.

    cleave bench split         every kernel unsplit and in slices, in every mode
    cleave bench micro         what a call, a launch and a slice cost
    cleave bench neighbours    the paper's experiment: a job on the device alongside 1 to 4 neighbours on the same cores
    cleave bench remote        the devices of a server on this machine, against the same devices natively
    cleave bench admission     how long a server's client waits to be admitted, alongside hostile connections
    cleave bench clients       one server's clients: how long short kernels wait alongside long ones
    cleave bench turns         processes that share a device, natively and taking turns
    cleave bench share         real programs alongside each other on one device, natively and under Cleave
    cleave bench limits        caps, memory limits and what is accounted for
    cleave bench metrics       GPU-Virt-Bench's metrics: calls, limits, neighbours and errors
    cleave bench gpu           pipelined launches, waits and policies on one GPU
    cleave bench all           all of these but share; gpu only where there is a GPU
    cleave bench compare A B   two stored results, row by row
    cleave bench plot FILE     draws the picture of stored results again
    cleave bench tune -- PROGRAM...     the α for a program, within an allowed loss

Every suite prints a table and stores JSON and a picture in a folder (--results). Everything is compared with the same program
without Cleave, measured alternately in the same run. The exit status is 0 if everything could be measured and every result was
the native one, whether or not the figures meet the requirements.
"""

import argparse
import pathlib
import sys

import admission
import clients
import compare
import gpu
import isolation
import limits
import metrics
import micro
import neighbours
import plots
import programs
import remote
import results
import share
import split
import tune
import turns

SUITES = {"micro": micro, "split": split, "neighbours": neighbours, "remote": remote, "admission": admission, "clients": clients, "turns": turns,
          "limits": limits, "metrics": metrics, "gpu": gpu, "share": share}
OF_CLEAVE_ALONE = tuple(name for name in SUITES if name != "share")  # it needs programs that are not part of Cleave


def add_kept(command):
    command.add_argument("--quick", action="store_true", help="small sizes, few repeats: a try on a processor")
    command.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"),
                         help="where the JSON and the picture go (./results)")


def add_suite(commands, name, words, platform=""):
    suite = commands.add_parser(name, help=words, description=SUITES[name].__doc__ if name in SUITES else None)
    suite.add_argument("--platform", default=platform,
                       help=f"part of the platform's name ({platform or 'that of the first GPU, else of the first device'})")
    add_kept(suite)
    return suite


def add_sharing(suite):
    suite.add_argument("--isolation", default="auto", choices=isolation.NAMES,
                       help="how the processes are isolated (auto: the fairest kind that is available)")
    suite.add_argument("--cores", type=int, default=4, help="how many cores of the host they share (4)")
    suite.add_argument("--mode", default="auto", choices=["auto", "sequential", "queued", "pipelined"],
                       help="how the job's slices are launched: as Cleave does by itself (auto); the paper: sequential")
    suite.add_argument("--neighbours", type=int, default=4, choices=range(1, 5), help="how many, at most (4)")
    suite.add_argument("--window", type=float, metavar="SECONDS",
                       help="how long all of them run for one figure (20; --quick: 0.4, in domains 3)")
    suite.add_argument("--pressure", type=float, default=0.03, metavar="TARGET", help="of the policy pressure (0.03)")
    suite.add_argument("--size", type=int, metavar="ROWS", help="of the neighbours' products (1600; --quick: 320)")
    suite.add_argument("--groups", type=int, action="append", metavar="N",
                       help=f"a fixed number of the job's slices ({', '.join(map(str, neighbours.GROUPS))}); may be repeated")
    suite.add_argument("--policy", action="append", choices=neighbours.POLICIES,
                       help="only this policy, in addition to the fixed numbers; may be repeated")


def add_neighbours(commands):
    suite = add_suite(commands, "neighbours", "the paper's experiment")
    add_sharing(suite)
    suite.add_argument("--rounds", type=int, metavar="N", help="how often each figure is measured (3; --quick: 2)")
    add_only(suite, neighbours.PARTS)


def add_clients(commands):
    suite = add_suite(commands, "clients", "one server's clients: short kernels alongside long ones")
    suite.add_argument("--clients", type=int, default=8, metavar="N", help="how many there are, one of them with long kernels (8)")
    suite.add_argument("--window", type=float, metavar="SECONDS", help="how long they run for one figure (10; --quick: 2)")


def add_only(suite, parts):
    suite.add_argument("--only", action="append", metavar="PART", choices=list(parts),
                       help=f"one of {', '.join(parts)}; may be repeated")


def add_turns(commands):
    suite = add_suite(commands, "turns", "processes that share a device, natively and taking turns")
    suite.add_argument("--seconds", type=float, help="how long the processes run for one figure (2; --quick: 0.3)")
    suite.add_argument("--rounds", type=int, metavar="N", help="how often each figure is measured (2; --quick: 1)")
    add_only(suite, turns.PARTS)


def add_limits(commands):
    suite = add_suite(commands, "limits", "caps, memory limits and what is accounted for")
    suite.add_argument("--seconds", type=float, help="how long the processes run for one figure (6; --quick: 1.2)")
    suite.add_argument("--rounds", type=int, metavar="N", help="how often each figure is measured (2; --quick: 1)")
    add_only(suite, limits.PARTS)


def add_metrics(commands):
    suite = add_suite(commands, "metrics", "GPU-Virt-Bench's metrics: calls, limits, neighbours and errors")
    suite.add_argument("--rounds", type=int, metavar="N", help="how often each figure is measured (3; --quick: 1)")
    add_only(suite, metrics.PARTS)


def add_share(commands):
    suite = add_suite(commands, "share", "real programs alongside each other, natively and under Cleave")
    suite.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("programs"), metavar="FOLDER",
                       help="what bench/share/fetch has fetched (./programs)")
    suite.add_argument("--program", action="append", metavar="NAME", choices=list(share.WORDS),
                       help=f"only this one of {', '.join(share.WORDS)}; may be repeated")
    suite.add_argument("--seconds", type=float, help="how long the programs run for one figure (2.5; --quick: 0.4)")
    suite.add_argument("--rounds", type=int, metavar="N", help="how often each figure is measured (3; --quick: 1)")
    suite.add_argument("--minutes", type=float, help="no round begins that would end later than so long after the start (no limit)")
    suite.add_argument("--cap", type=float, default=50, metavar="PERCENT", help="of the device's time for each best-effort program (50)")
    add_only(suite, share.PARTS)


def add_peer(suite):
    suite.add_argument("--peer", type=pathlib.Path, metavar="FOLDER",
                       help="where PoCL is installed with its remote driver and daemon (that of the pocld in PATH)")
    return suite


def add_tune(commands):
    command = commands.add_parser("tune", help="the α for a program", description=tune.__doc__)
    command.add_argument("--budget", type=float, default=0.05, help="what share of its time it may lose (0.05)")
    counts = command.add_mutually_exclusive_group()
    counts.add_argument("--neighbours", type=int, default=4, choices=range(1, 16), metavar="N",
                        help="for 1 to N neighbours, at most 15 (4)")
    counts.add_argument("--vms", type=int, action="append", metavar="N",
                        help="for so many VMs, the own one included; may be repeated")
    command.add_argument("--repeats", type=int, default=5, help="how often each setting is measured (5)")
    command.add_argument("--write", type=pathlib.Path, default=pathlib.Path("cleave.toml"),
                         help="where the settings go (./cleave.toml)")
    add_kept(command)
    command.add_argument("program", nargs="+", metavar="PROGRAM", help="and its arguments, behind --")


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, as the other commands do."""

    def error(self, message):
        self.exit(2, f"cleave: {message} (see {self.prog} --help)\n")


def arguments():
    parser = Parser(
        prog="cleave bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    add_suite(commands, "micro", "what a call, a launch and a slice cost")
    add_suite(commands, "split", "every kernel unsplit and in slices")
    add_neighbours(commands)
    add_only(add_peer(add_suite(commands, "remote", "the devices of a server, against the same natively")), remote.PARTS)
    add_suite(commands, "admission", "how long a server's client waits to be let in")
    add_clients(commands)
    add_turns(commands)
    add_limits(commands)
    add_metrics(commands)
    add_share(commands)
    suite = add_suite(commands, "gpu", "pipelined launches, waits, policies on one GPU", "NVIDIA")
    add_only(suite, [name for name, _ in gpu.PARTS])
    suite.add_argument("--way", choices=programs.WAYS, default=programs.WAYS[0],
                       help="how Cleave gets in: as the loader (preload) or as a vendor in front of the driver (vendor)")
    add_sharing(add_peer(add_suite(commands, "all", "all of these; gpu only where there is a GPU")))
    two = commands.add_parser("compare", help="two stored results, row by row")
    two.add_argument("first", type=pathlib.Path, metavar="A")
    two.add_argument("second", type=pathlib.Path, metavar="B")
    again = commands.add_parser("plot", help="the picture of stored results")
    again.add_argument("file", type=pathlib.Path)
    add_tune(commands)
    return parser.parse_args()


def keep(found, given):
    """The table of a suite, its JSON and its picture. Whether every result was right."""
    results.print_table(found)
    given.results.mkdir(parents=True, exist_ok=True)
    kept = given.results / f"{found.suite}.json"
    results.keep(found, kept)
    if found.suite in plots.SUITES:
        plots.draw(found, kept.with_suffix(".png"))
    return found.sound


def measure(name, given):
    print(f"{name} …", file=sys.stderr, flush=True)
    return keep(SUITES[name].measure(given), given)


def measure_all(given):
    """Those that cannot be had here are named, and the others go on."""
    given.only, given.way, given.clients = None, programs.WAYS[0], 8
    given.seconds, given.rounds = None, None
    probe, _ = programs.measure("stream", 1, *programs.target(given), "--repeats", 1)
    sound = True
    for name in OF_CLEAVE_ALONE:
        if name == "gpu" and probe["on_processor"]:
            print("gpu: left out, the device is a processor", file=sys.stderr)
            continue
        try:
            sound &= measure(name, given)
        except results.Unmeasured as why:
            print(f"{name}: left out: {why}", file=sys.stderr)
    return sound


def search(given):
    given.vms = given.vms or list(range(2, given.neighbours + 2))
    found, settings = tune.tune(given)
    sound = keep(found, given)
    print(f"\n{settings}")
    given.write.write_text(settings)
    print(f"written to {given.write}", file=sys.stderr)
    return sound


def main():
    given = arguments()
    if given.suite == "plot":
        plots.draw(results.load(given.file), given.file.with_suffix(".png"))
        return 0
    if given.suite == "compare":
        compare.compare(given.first, given.second)
        return 0
    run = {"all": measure_all, "tune": search}.get(given.suite)
    return 0 if (run(given) if run else measure(given.suite, given)) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except results.Unmeasured as why:
        print(f"cleave bench: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
