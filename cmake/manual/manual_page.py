"""Manual pages in mdoc(7), from what help_text.py has read and from the sections that a help has no room for."""

import re

# Where the pages of a command's subcommands are; that of `cleave bench` has its suites.
_SECTION = 1


def escape(text):
    """Text as lines of their own, a sentence each: no request, no escape of roff's."""
    lines = re.sub(r"(?<=[^.][.:]) (?=[A-Z])", "\n", text.replace("\\", "\\e")).split("\n")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _sentence(text):
    return escape(text[:1].upper() + text[1:] + ("" if text.endswith(".") else "."))


def _argument(text):
    """As an argument of a macro, in which no word is a macro's name."""
    return '"' + escape(text).replace('"', '""') + '"'


def _option_head(option):
    names = " , ".join(f"Fl {name[1:]}" for name in option.names)
    if option.value.startswith("[="):
        return f"{names} Ns {_argument(option.value)}"
    return f"{names} Ar {_argument(option.value)}" if option.value else names


def _options(command):
    lines = [".Bl -tag -width Ds"]
    for name, text in command.positionals:
        lines += [f".It Ar {_argument(name)}", escape(text)] if text else []
    for option in command.options:
        # What begins with a value stays as it is.
        text = f"{option.text}." if option.choices() and option.value.isupper() else _sentence(option.text)
        lines += [f".It {_option_head(option)}", text]
    return [*lines, ".El"]


def _synopsis(command):
    lines = [f".Nm {_argument(command.name)}"]
    if command.usage:
        lines.append(f"{escape(command.usage)}")
    return lines


def _page_of(command):
    return "-".join(command.words)


def _is_described_here(command, parent):
    """Whether a subcommand has no page of its own: `cleave icd install` is in that of `cleave icd`."""
    return len(parent.words) > 1 and command in parent.commands


def _subcommands(command):
    lines = [".Bl -tag -width Ds"]
    for each in command.commands:
        lines.append(f".It Nm {_argument(each.name)}")
        lines.append(_sentence(each.summary))
        if not _is_described_here(each, command):
            lines += ["See", f".Xr {_page_of(each)} {_SECTION} ."]
    return [*lines, ".El"]


def _details(command):
    """Subcommands in their parent's page."""
    lines = []
    for each in command.commands:
        lines += [f".Ss {each.name}", *_synopsis(each)]
        for text in each.description:
            lines += [".Pp", escape(text)]
        lines += _options(each)
    return lines


def pages(command):
    """The commands that have a page of their own: the program, and what is directly below it."""
    return [command, *command.commands]


def _body(command):
    """What the help says, by sections."""
    texts = command.description or [f"{command.summary.rstrip('.')}."]
    lines = [".Sh DESCRIPTION", *(line for text in texts for line in (".Pp", escape(text)))]
    del lines[1]
    lines += [".Sh OPTIONS", *_options(command)]
    if command.commands:
        lines += [".Sh COMMANDS", *_subcommands(command)]
        lines += _details(command) if len(command.words) > 1 else []
    return lines + [line for text in command.notes if not _is_status(text) for line in (".Pp", escape(text))]


def _is_status(text):
    return "exit status" in text


def _see_also(command, program):
    names = sorted(_page_of(each) for each in pages(program) if each is not command)
    return [".Sh SEE ALSO", *(f".Xr {name} {_SECTION} ," for name in names), ".Xr cleave.toml 5"]


def _in_order(sections):
    """Sections of lines, in the order that readers expect."""
    order = ["ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
    return sorted(sections, key=lambda lines: order.index(lines[0].removeprefix(".Sh ")))


def page(command, program, date, more):
    """`more`: further sections, in mdoc."""
    lines = [f".Dd {date}", f".Dt {_page_of(command).upper()} {_SECTION}", ".Os", ".Sh NAME", f".Nm {_page_of(command)}",
             f".Nd {escape(_sentence_inside(command.summary))}", ".Sh SYNOPSIS", *_synopsis(command), *_body(command)]
    sections = [text.splitlines() for text in re.split(r"\n(?=\.Sh )", more.strip()) if text]
    statuses = [escape(text) for text in command.notes if _is_status(text)]
    sections += [[".Sh EXIT STATUS", *statuses]] if statuses else []
    if not any(each[0] == ".Sh SEE ALSO" for each in sections):
        sections.append(_see_also(command, program))
    return "\n".join([*lines, *(line for each in _in_order(sections) for line in each)]) + "\n"


def _sentence_inside(text):
    """As part of a line: small at its beginning, without its full stop."""
    text = text.removeprefix("Cleave ").rstrip(".")
    return text[:1].lower() + text[1:]


# --- cleave.toml(5)


def _plain(markdown):
    """Without links and emphasis; what is in code stays as it is."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return text.replace("`", "").replace("**", "")


def settings_page(markdown, date, sections):
    """`markdown`: docs/configuration.md, whose table of settings a test compares with the list in the code."""
    lines = [f".Dd {date}", ".Dt CLEAVE.TOML 5", ".Os", ".Sh NAME", ".Nm cleave.toml", ".Nd settings of programs under Cleave",
             *sections.rstrip().splitlines(), ".Sh SETTINGS", "Each with its variable, its key in the file, and its default.",
             ".Bl -tag -width Ds"]
    rows = re.findall(r"(?m)^\| `(CLEAVE_\w+)` \| (.*?) \| (.*?) ?\| (.*) \|$", markdown)
    for variable, key, default, meaning in rows:
        lines.append(f".It Ev {variable} , Li {_argument(_plain(key))}" if "`" in key else f".It Ev {variable}")
        # What begins with a value stays as it is.
        text = _plain(meaning)
        lines.append(f"{escape(text)}." if meaning.startswith("`") or text == "α" else _sentence(text))
        lines += [f"Default: {escape(_plain(default))}."] if default.strip() else []
    lines += [".El", ".Sh SEE ALSO", ".Xr cleave 1 ,", ".Xr cleave-doctor 1 ,", ".Xr cleave-run 1"]
    return "\n".join(lines) + "\n"
