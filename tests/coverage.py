"""Reports which lines of the production code the unit and simulation tests execute, folder by folder.

    cmake --preset coverage && cmake --build --preset coverage && ctest --preset coverage -j 2
    python3 tests/coverage.py build/coverage [--lines FOLDER]

--lines lists the lines of a folder that no test reaches. Needs llvm-profdata and llvm-cov of the compiler's version.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRODUCTION = ("src", "icd", "remote", "monitor", "include")


def exported(build):
    """llvm-cov's JSON of all test programs."""
    profiles = sorted((build / "profiles").glob("*.profraw"))
    if not profiles:
        sys.exit(f"{build}/profiles has no profiles: run ctest --preset coverage first")
    merged = build / "coverage.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-o", merged, *profiles], check=True)
    programs = [path for path in sorted((build / "tests").iterdir()) if is_instrumented(path)]
    objects = [word for path in programs[1:] for word in ("-object", path)]
    ignored = f"({ROOT}/(tests|build|bench)/|/usr/)"
    command = ["llvm-cov", "export", programs[0], *objects, f"-instr-profile={merged}", f"-ignore-filename-regex={ignored}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def is_instrumented(path):
    if not path.is_file() or path.suffix not in ("", ".so"):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF" and b"__llvm_covmap" in path.read_bytes()


def folder_of(name):
    """The layer: two levels below src and remote, one level elsewhere."""
    parts = pathlib.Path(name).relative_to(ROOT).parts
    return "/".join(parts[:2] if parts[0] in ("src", "remote") else parts[:1])


def uncovered(file):
    """Line numbers at which a region begins that was never executed."""
    return sorted({segment[0] for segment in file["segments"] if segment[3] and segment[2] == 0 and segment[4]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--lines", metavar="FOLDER", help="list what is not reached there")
    given = parser.parse_args()
    files = [file for file in exported(given.build.resolve())["data"][0]["files"]
             if pathlib.Path(file["filename"]).relative_to(ROOT).parts[0] in PRODUCTION]
    totals = collections.defaultdict(lambda: collections.Counter())
    for file in files:
        for folder in (folder_of(file["filename"]), "all"):
            for kind in ("lines", "functions", "branches"):
                totals[folder][kind] += file["summary"][kind]["count"]
                totals[folder][f"{kind} covered"] += file["summary"][kind]["covered"]
    print("| folder | lines | covered | functions | branches |\n|---|---|---|---|---|")
    for folder, sums in sorted(totals.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        shares = [100 * sums[f"{kind} covered"] / max(sums[kind], 1) for kind in ("lines", "functions", "branches")]
        print(f"| {folder} | {sums['lines']} | {shares[0]:.1f} % | {shares[1]:.1f} % | {shares[2]:.1f} % |")
    for file in files if given.lines else []:
        name = pathlib.Path(file["filename"]).relative_to(ROOT)
        if name.as_posix().startswith(given.lines):
            print(f"{name}: {', '.join(map(str, uncovered(file))) or 'all reached'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
