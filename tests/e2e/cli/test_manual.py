"""The manual pages and the completions have every option of every program, and the shells take them."""

import functools
import pathlib
import re
import shutil
import subprocess
import unittest

from support.options import CLEAVE, main

SHARE = CLEAVE.parent.parent / "share"
PROGRAMS = [CLEAVE.parent / name for name in ("cleave", "cleave-monitord", "cleave-serverd")]
SETTINGS = pathlib.Path(__file__).absolute().parents[3] / "docs/configuration.md"
SUITES = ("micro", "split", "neighbours", "remote", "admission", "clients", "turns", "gpu", "all", "compare", "plot", "tune")
COMMANDS = [(), ("run",), ("doctor",), ("top",), ("icd",), ("icd", "install"), ("icd", "uninstall"), ("icd", "status"),
            ("icd", "cdi"), ("layer",), ("layer", "install"), ("layer", "uninstall"), ("layer", "status"),
            ("slurm",), ("slurm", "run"), ("slurm", "serve"), ("slurm", "client"),
            ("remote",), ("remote", "ls"), ("trace",), ("trace", "merge"), ("bench",), *(("bench", suite) for suite in SUITES)]


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def help_of(program, words=()):
    return output(program, *words, "--help")


def long_options(text):
    """Those that begin a line of the help."""
    return set(re.findall(r"(?m)^ +(?:-\w, ?)?--([a-z-]+)", text))


def page_of(words):
    """Subcommands of subcommands are in their parent's."""
    return (SHARE / "man/man1" / ("-".join(("cleave", *words[:1])) + ".1")).read_text()


class ManualPages(unittest.TestCase):
    def test_commands_here_are_all_that_there_are(self):
        listed = set(re.findall(r"(?m)^  (\w+) ", help_of(CLEAVE).split("Subcommands:")[1]))
        self.assertEqual(listed, {words[0] for words in COMMANDS if words})
        self.assertEqual({page.stem for page in (SHARE / "man/man1").iterdir()}, {"cleave", *(f"cleave-{name}" for name in listed)})

    def test_each_option_is_in_the_page(self):
        for words in COMMANDS:
            with self.subTest(words):
                options = long_options(help_of(CLEAVE, words))
                self.assertIn("help", options)
                page = page_of(words)
                if len(words) > 1:
                    page = re.split(r"(?m)^\.S[sh] ", page.split(f".Ss cleave {' '.join(words)}\n")[1])[0]
                else:
                    page = page.split(".Ss ")[0]
                self.assertEqual(set(re.findall(r"(?m)^\.It .*Fl -([a-z-]+)", page)), options)

    def test_page_of_settings_has_all_that_are_documented(self):
        documented = re.findall(r"(?m)^\| `(CLEAVE_\w+)`", SETTINGS.read_text().split("\n## Old names\n")[0])
        self.assertGreater(len(documented), 30)
        page = (SHARE / "man/man5/cleave.toml.5").read_text()
        self.assertEqual(re.findall(r"(?m)^\.It Ev (\w+)", page), documented)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_pages_are_well_formed(self):
        for page in SHARE.glob("man/man?/*"):
            with self.subTest(page.name):
                done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.stdout + done.stderr, "")


def completable():
    """Each program or subcommand, as its words, with its long options."""
    for words in COMMANDS:
        yield ("cleave", *words), long_options(help_of(CLEAVE, words))
    for program in PROGRAMS[1:]:
        if program.exists():
            yield (program.name,), long_options(help_of(program))


def with_dashes(options):
    return {f"--{option}" for option in options}


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Bash(unittest.TestCase):
    def complete(self, *words):
        """What may follow; the last word is the one that is completed."""
        script = f"""compopt() {{ :; }}
            . "$1" && shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _{words[0].replace("-", "_")}
            printf '%s\\n' "${{COMPREPLY[@]}}"
            """
        return output("bash", "-c", script, "bash", SHARE / "bash-completion/completions" / words[0], *words).split()

    def test_offers_each_option(self):
        for words, options in completable():
            with self.subTest(words):
                self.assertEqual(set(self.complete(*words, "--")), with_dashes(options))

    def test_offers_subcommands_and_values(self):
        self.assertEqual(self.complete("cleave", "i"), ["icd"])
        self.assertEqual(self.complete("cleave", "icd", ""), ["install", "uninstall", "status", "cdi"])
        self.assertEqual(self.complete("cleave", "run", "--launch", ""), ["auto", "sequential", "queued", "pipelined"])
        self.assertEqual(self.complete("cleave", "run", "--launch", "=", "p"), ["pipelined"])
        self.assertEqual(self.complete("cleave", "run", "--vms", "5", "--la"), ["--launch"])
        self.assertEqual(self.complete("cleave-serverd", "--sandbox", ""), ["auto", "on", "off"])

    def test_leaves_the_programs_options_to_the_program(self):
        for before in ((), ("--",), ("--vms", "5"), ("--vms", "=", "5", "--")):
            with self.subTest(before):
                self.assertIn("bash", self.complete("cleave", "run", *before, "bas"))
                self.assertEqual(self.complete("cleave", "run", *before, "no-such-program", "--"), [])


@unittest.skipUnless(shutil.which("fish"), "no fish")
class Fish(unittest.TestCase):
    def complete(self, *lines):
        """For each line what may follow."""
        script = "".join(f"source {file}\n" for file in (SHARE / "fish/vendor_completions.d").iterdir())
        script += "for line in $argv\ncomplete -C $line | string split -f 1 \\t\necho =\nend"
        found = output("fish", "--no-config", "-c", script, *lines)
        return [set(answer.split()) for answer in found.split("=\n")[:-1]]

    def test_offers_each_option(self):
        wanted = list(completable())
        answers = self.complete(*(f"{' '.join(words)} --" for words, _ in wanted))
        for (words, options), answer in zip(wanted, answers, strict=True):
            with self.subTest(words):
                self.assertEqual(answer, with_dashes(options))

    def test_offers_subcommands_values_and_programs(self):
        subcommands, values, programs = self.complete("cleave icd ", "cleave run --launch ", "cleave run --vms 5 bas")
        self.assertEqual(subcommands, {"install", "uninstall", "status", "cdi"})
        self.assertEqual(values, {"auto", "sequential", "queued", "pipelined"})
        self.assertIn("bash", programs)


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(unittest.TestCase):
    def test_offers_each_option(self):
        """Completion itself needs a terminal: this checks what each function passes to zsh's own `_arguments`."""
        for words, options in completable():
            with self.subTest(words):
                script = f"""_arguments() {{ print -rl -- "$@" }}
                    . "$1" > /dev/null
                    {"_" + "_".join(words).replace("-", "_")}"""
                given = output("zsh", "-f", "-c", script, "zsh", SHARE / f"zsh/site-functions/_{words[0]}")
                self.assertEqual(set(re.findall(r"(?m)^(?:\*|\(- \*\))(--[a-z-]+)", given)), with_dashes(options))


if __name__ == "__main__":
    main()
