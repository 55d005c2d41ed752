"""systemd understands the units, and thinks well of their hardening.

usage: test_units.py CLEAVE_MONITORD MONITOR_FOLDER
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DAEMON, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.service = pathlib.Path(folder.name) / "cleave-monitord.service"
        text = (SOURCE / "cleave-monitord.service.in").read_text()
        self.service.write_text(re.sub("^ExecStart=.*", f"ExecStart={DAEMON}", text, flags=re.MULTILINE))
        socket = self.service.with_suffix(".socket")
        socket.write_text((SOURCE / "cleave-monitord.socket").read_text())

    def test_verify(self):
        _, said = run("systemd-analyze", "verify", "--man=no", self.service)
        self.assertEqual([line for line in said.splitlines() if "cleave-monitord" in line], [])

    def test_hardening(self):
        status, said = run("systemd-analyze", "security", "--offline=true", "--threshold=20", self.service)
        self.assertEqual(status, 0, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
