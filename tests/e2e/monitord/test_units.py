"""systemd accepts the units, and rates their hardening well."""

import re

from support.options import OPTIONS, main
from support.processes import FolderTest, run


class Units(FolderTest):
    def setUp(self):
        super().setUp()
        self.service = self.folder / "cleave-monitord.service"
        text = (OPTIONS.units / "cleave-monitord.service.in").read_text()
        self.service.write_text(re.sub("^ExecStart=.*", f"ExecStart={OPTIONS.monitord}", text, flags=re.MULTILINE))
        socket = self.service.with_suffix(".socket")
        socket.write_text((OPTIONS.units / "cleave-monitord.socket").read_text())

    def test_units_are_valid(self):
        done = run("systemd-analyze", "verify", "--man=no", self.service)
        self.assertEqual([line for line in (done.stdout + done.stderr).splitlines() if "cleave-monitord" in line], [])

    def test_hardening_is_rated_well(self):
        done = run("systemd-analyze", "security", "--offline=true", "--threshold=20", self.service)
        self.assertEqual(done.returncode, 0, done)


if __name__ == "__main__":
    main()
