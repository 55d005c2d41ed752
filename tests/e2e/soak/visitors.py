"""Programs that come for a while: what they say is read at their end, and a hang is noticed."""

import signal
import subprocess
import tempfile
import threading
import time

from support.options import OPTIONS

HANG_TIMEOUT = 300  # seconds, in which every visitor ends by itself on a machine that is far too busy


def program(group, name):
    return OPTIONS.programs.parent / group / name


class Visitor:
    """`is_right`: of what it has written, if it ended with status 0."""

    def __init__(self, kind, command, environment, is_right, words=b"", lost=None):
        self.kind = kind
        self.is_right = is_right
        self.lost = lost
        self.lost_before = lost() if lost else 0
        self.begun = time.monotonic()
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile()
        words_file = tempfile.TemporaryFile()
        words_file.write(words)
        words_file.seek(0)
        self.process = subprocess.Popen([str(word) for word in command], env=environment, stdin=words_file, stdout=self.out,
                                        stderr=self.err)
        words_file.close()
        self.continued = None

    def pause(self, seconds):
        """Stops it for so long."""
        if self.continued is not None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGSTOP)
        self.continued = threading.Timer(seconds, self.go_on)
        self.continued.start()

    def go_on(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        self.continued = None

    def has_ended(self):
        if self.process.poll() is None and time.monotonic() > self.begun + HANG_TIMEOUT:
            raise AssertionError(f"{self.kind}: hangs: {self.process.args}")
        return self.process.poll() is not None

    def wait(self):
        self.process.wait(HANG_TIMEOUT)

    def check(self, test):
        out, err = self.text(self.out), self.text(self.err)
        message = f"{self.kind}: {self.process.args}: status {self.process.returncode}\n{out}\n{err}"
        if self.lost and self.lost() != self.lost_before:
            test.assertGreaterEqual(self.process.returncode, 0, message)  # whatever it makes of that: no crash
        else:
            test.assertEqual(self.process.returncode, 0, message)
            test.assertTrue(self.is_right(out), message)
        self.close()

    def kill(self):
        if timer := self.continued:
            timer.cancel()
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self):
        self.out.close()
        self.err.close()

    @staticmethod
    def text(file):
        file.seek(0)
        return file.read().decode(errors="replace")
