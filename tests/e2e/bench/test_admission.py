"""The suite `admission`: it runs on PoCL, and its hostile connections keep no valid client out."""

import json

from support.options import main
from support.processes import FolderTest, cleave


class Admission(FolderTest):
    def test_every_client_is_admitted(self):
        done = cleave("bench", "admission", "--quick", "--platform", "Portable", "--results", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["what"]: row["value"] for row in json.loads((self.folder / "admission.json").read_text())["rows"]}
        self.assertEqual(len(rows), 6)
        self.assertTrue(all(value > 0 for value in rows.values()), rows)


if __name__ == "__main__":
    main()
