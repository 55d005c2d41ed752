"""Writes the manual pages and the completions of the built programs, in the shape in which they are installed.

    python3 cmake/manual --output FOLDER --date YYYY-MM-DD PROGRAM...

The daemons' manual pages are written by hand (monitor/cleave-monitord.8, remote/server/cleave-serverd.8).
"""

import argparse
import datetime
import pathlib

import completions
import help_text
import manual_page

HERE = pathlib.Path(__file__).absolute().parent
SETTINGS = HERE.parent.parent / "docs/configuration.md"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="share/ of the build folder")
    parser.add_argument("--date", type=datetime.date.fromisoformat, required=True, help="of the pages")
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    return parser.parse_args()


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def sections_of(name):
    file = HERE / "sections" / f"{name}.mdoc"
    return file.read_text() if file.exists() else ""


def write_pages(program, folder, date):
    for command in manual_page.pages(program):
        name = "-".join(command.words)
        write(folder / f"man1/{name}.1", manual_page.page(command, program, date, sections_of(name)))
    write(folder / "man5/cleave.toml.5", manual_page.settings_page(SETTINGS.read_text(), date, sections_of("cleave.toml")))


def main():
    given = arguments()
    date = f"{given.date:%B} {given.date.day}, {given.date.year}"
    for path in given.programs:
        program = help_text.read(path.absolute(), [path.name])
        write(given.output / f"bash-completion/completions/{path.name}", completions.bash(program))
        write(given.output / f"zsh/site-functions/_{path.name}", completions.zsh(program))
        write(given.output / f"fish/vendor_completions.d/{path.name}.fish", completions.fish(program))
        if path.name == "cleave":
            write_pages(program, given.output / "man", date)


if __name__ == "__main__":
    main()
