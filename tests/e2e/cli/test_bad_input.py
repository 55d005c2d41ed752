"""What docs/bad-input.md says of wrong values, files and command lines is what a user sees."""

import re
import shlex
from pathlib import Path

from command_test import CommandTest
from support.options import CLEAVE, DROP_IN, VENDOR, main
from support.processes import clean_environment, require_installed, run

PAGE = Path(__file__).parents[3] / "docs/bad-input.md"
SETTINGS = Path(__file__).parents[3] / "src/base/settings/settings_list.cpp"
HINT = "; splitting is off until this is fixed"


def rows(title, columns):
    """The rows of the table below a title."""
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = re.findall(r"(?m)^\| `" + r" \| ".join([r"(.+?)"] * columns) + r" \|$", section)
    return [tuple(cell.strip("`") for cell in row) if columns > 1 else (row.strip("`"),) for row in found]


class BadInput(CommandTest):
    def said(self, setting, value):
        """What a program that lists no device prints on standard error under the drop-in, or under the vendor library."""
        library = {"LD_PRELOAD": str(DROP_IN)}
        vendors = self.folder / ("vendor" if setting == "CLEAVE_ICD_WRAP" else "none")
        vendors.mkdir(exist_ok=True)
        if setting == "CLEAVE_ICD_WRAP":
            library = {}
            (vendors / "cleave.icd").write_text(f"{VENDOR}\n")
        environment = clean_environment(**(library | {"OCL_ICD_VENDORS": f"{vendors}/", "CLEAVE_CONFIG": "/dev/null", setting: value}))
        done = run(require_installed("clinfo", "clinfo"), "--list", environment=environment)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        return done.stderr

    def test_values(self):
        table = rows("Values", 3)
        known = re.findall(r'\{"(CLEAVE_\w+)"', SETTINGS.read_text())
        without_wrong_values = {"CLEAVE_DENY", "CLEAVE_ALLOW", "CLEAVE_STATS", "CLEAVE_TRACE", "CLEAVE_CACHE", "CLEAVE_NEXT",
                                "CLEAVE_REMOTE_TOKEN_FILE", "CLEAVE_REMOTE_CA", "CLEAVE_REMOTE_CERT"}
        self.assertEqual({row[0] for row in table}, set(known) - without_wrong_values, "every setting has a row")
        for setting, value, expected in table:
            with self.subTest(setting):
                line = f'cleave: {setting}="{value}": expected {expected}{HINT}\n'
                self.assertEqual(self.said(setting, value), line)

    def test_files_and_folders(self):
        table = rows("Files and folders", 3)
        self.assertGreater(len(table), 10)
        for setting, value, text in table:
            with self.subTest(f"{setting}={value}"):
                start, _, rest = text.partition("` …")
                said = self.said(setting, value)
                self.assertTrue(said.startswith(f"cleave: {start}"), said)
                if not rest and "…" not in text:
                    self.assertEqual(said, f"cleave: {text}\n")
                self.assertEqual(said.count("\n"), 1, said)

    def test_commands(self):
        table = rows("Commands", 2)
        self.assertGreater(len(table), 7)
        for command, text in table:
            with self.subTest(command):
                done = self.cleave(*shlex.split(command)[1:], command=CLEAVE)
                said = done.stderr.decode()
                self.assertEqual((done.returncode, done.stdout, said.count("\n")), (2, b"", 1), said)
                self.assertTrue(said.startswith(text.partition("`")[0].removesuffix(" …")), said)


if __name__ == "__main__":
    main()
