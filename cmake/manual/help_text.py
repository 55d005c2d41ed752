"""What the programs' own --help says, as data: the one source of manual pages and completions.

Two forms are understood: CLI11's, of `cleave` and the daemons, whose descriptions begin in column 30; and argparse's, of the
suites of `cleave bench`. Both put each description on one line if the terminal is wide enough.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field

_COLUMN = 30  # where CLI11's descriptions begin
_WIDE = "2000"


@dataclass
class Option:
    names: list  # "-h", "--help"
    value: str  # as the help writes it: "FILE", "[=FILE]", "{auto,on}"; empty: it takes none
    text: str

    @property
    def long(self):
        return self.names[-1]

    @property
    def needs_value(self):
        """Whether the next word is its value."""
        return bool(self.value) and not self.value.startswith("[=")

    def choices(self):
        """The values, where the help names them all: "{a,b}", "a|b", or a text that begins with "a, b or c". What ends in a
        colon is to be continued."""
        if self.value.startswith("{"):
            return self.value.strip("{}").split(",")
        if "|" in self.value:
            return self.value.split("|")
        found = re.match(r"(?:[a-z]+(?::[A-Z]+)?, )+[a-z]+(?::[A-Z]+)? or [a-z]+(?::[A-Z]+)?(?=,|$)", self.text)
        return re.sub(r":[A-Z]+", ":", found[0]).replace(" or ", ", ").split(", ") if found else []


@dataclass
class Command:
    words: list  # "cleave", "icd", "install"
    summary: str  # one line
    usage: str  # what follows the words
    options: list
    positionals: list  # (name, text)
    description: list = field(default_factory=list)  # paragraphs
    notes: list = field(default_factory=list)  # paragraphs that follow the options
    commands: list = field(default_factory=list)  # its subcommands

    @property
    def name(self):
        return " ".join(self.words)

    def all(self):
        """This command and those below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def _option(names, text):
    """Of "-h,--help", "--vms N", "--stats [=FILE]", "--connect URI ..."."""
    words = names.replace(", ", ",").split(" ", 1)
    found = [part for part in re.split(r",(?=-)", words[0]) if part.startswith("-")]
    value = words[1].removesuffix(" ...") if len(words) > 1 else ""
    return Option(found, value, text)


def _paragraphs(lines):
    return [" ".join(block.split("\n")) for block in "\n".join(lines).strip().split("\n\n") if block]


def _cli11_entries(lines):
    """The lines of a section as pairs of a name and its text."""
    entries = []
    for line in lines:
        if line[:_COLUMN].strip():
            is_long = not line[_COLUMN - 1 : _COLUMN + 1].startswith(" ")
            entries.append([line.strip(), ""] if is_long else [line[:_COLUMN].strip(), line[_COLUMN:].strip()])
        elif line.strip():
            entries[-1][1] = line.strip()
    return entries


def _argparse_entries(lines):
    entries = []
    for line in lines:
        if re.match(r" {2,4}\S", line):
            entries.append((re.split(r"\s{2,}", line.strip(), maxsplit=1) + [""])[:2])
        elif line.strip():
            entries[-1][1] = line.strip()
    return entries


_SECTION = re.compile(r"(Options|Positionals|Subcommands|options|positional arguments):$")


def _sections(lines):
    """The lines before the first section, those of each, and those behind the last, which are not indented."""
    before, sections, after = [], {}, []
    into = before
    for line in lines:
        title = _SECTION.match(line)
        if title:
            into = sections.setdefault(title[1].lower(), [])
        elif into is not before and line and not line.startswith(" "):
            into = after
            into.append(line)
        else:
            into.append(line)
    return before, sections, after


def _run(program, words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60, check=True,
                          env=os.environ | {"COLUMNS": _WIDE, "LC_ALL": "C.UTF-8"})
    return done.stdout.splitlines()


def _read_cli11(words, lines):
    before, sections, notes = _sections(lines)
    usage = next(line for line in before if line.startswith("Usage: ")).removeprefix("Usage: ").removeprefix(" ".join(words))
    summary = before[0]
    positionals = [(re.sub(" (TEXT|REQUIRED)", "", name), text) for name, text in _cli11_entries(sections.get("positionals", []))]
    options = [_option(*entry) for entry in _cli11_entries(sections["options"])]
    children = _cli11_entries(sections.get("subcommands", []))
    return Command(words, summary, usage.strip(), options, positionals, [], _paragraphs(notes)), children


def _read_argparse(words, lines, summary):
    before, sections, _ = _sections(lines)
    usage = before[0].removeprefix("usage: ").removeprefix(" ".join(words)).removeprefix(" [-h]").strip()
    options = [_option(*entry) for entry in _argparse_entries(sections["options"])]
    listed = _argparse_entries(sections.get("positional arguments", []))
    children = listed[1:] if listed and listed[0][0] == "SUITE" else []
    positionals = [(name, text) for name, text in listed if not children]
    # The table in the description of `cleave bench` says what the list of the suites says as well.
    description = [text for text in _paragraphs(before[1:]) if not text.startswith("    ")]
    return Command(words, summary, usage, options, positionals, description), children


def read(program, words, summary=""):
    """The command and all below it. `words`: how it is called; the first stands for `program`."""
    lines = _run(program, words[1:])
    if lines[0].startswith("usage: "):
        command, children = _read_argparse(words, lines, summary)
    else:
        command, children = _read_cli11(words, [line for line in lines])
    command.commands = [read(program, [*words, name], text) for name, text in children]
    return command
