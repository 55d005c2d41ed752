"""site_source.py FOLDER RESULTS: copies the repository's documents, and what they link to, to FOLDER, and makes a page of the pictures
in RESULTS."""

import pathlib
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)")
TITLES = {"micro": "Calls, launches and starts", "split": "Kernels in slices", "neighbours": "Beside neighbours",
          "remote": "Devices of a server", "clients": "A server's clients", "turns": "Processes that share a device",
          "gpu": "On a GPU"}


def documents():
    listed = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout
    return [pathlib.Path(name) for name in listed.split()]


def linked_files(document):
    """Files that are no documents themselves."""
    for target in LINK.findall(document.read_text()):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = document.parent / target
        if path.suffix != ".md" and path.is_file():
            yield path.resolve().relative_to(pathlib.Path.cwd())


def place(file, folder):
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file)


def pictures_page(pictures, folder):
    lines = ["# Pictures", ""]
    if not pictures:
        lines += ["This site was built without results of benchmarks. `cleave bench all` makes them, with a picture each, and",
                  "`packaging/site RESULTS` shows them here ([benchmarks](../bench/README.md)).", ""]
    for picture in pictures:
        (folder / "docs/pictures").mkdir(exist_ok=True)
        shutil.copyfile(picture, folder / "docs/pictures" / picture.name)
        suite = next((name for name in TITLES if name in picture.stem), "")
        lines += [f"## {TITLES.get(suite, picture.stem)}", "", f"`{picture.stem}` ([how it is measured](../bench/README.md))", "",
                  f"![{TITLES.get(suite, picture.stem)}](pictures/{picture.name})", ""]
    (folder / "docs/pictures.md").write_text("\n".join(lines))


def main():
    folder, results = map(pathlib.Path, sys.argv[1:])
    for document in documents():
        place(document, folder)
        for file in linked_files(document):
            place(file, folder)
    pictures_page(sorted(results.glob("*.png")) if results.is_dir() else [], folder)


main()
