"""hashcat: passwords for SHA-512 hashes, by trying all words of twelve letters. Work is counted in tried words.

Among the hashes are those of words further and further on. It tries the first letters of a word in the device's inner loop and the
others in batches of thousands; of batches that are complete, it must have found all words.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import string
import subprocess
import sys
import tempfile
import threading
import time

import role

LENGTH = 12
FIRST, FURTHER = 1e6, 1.25  # the words that are to be found: tried words before the first one, and from one to the next as a factor
LAST = 1e14
WORD = 1e6  # tried words in a unit
LIMIT = 200  # seconds
# It would choose these by what launches take when it starts, so that two of its processes differed for as long as they live. On an H100
# it chooses 1024 as their product, alone, in any proportion: launches of 7.3 ms.
TUNED = ["-n", "16", "-u", "64"]


def word(index):
    """In the order in which hashcat tries them: the first letter changes fastest."""
    letters = ""
    for _ in range(LENGTH):
        index, at = divmod(index, 26)
        letters += string.ascii_lowercase[at]
    return letters


def own_copy(folder, place):
    """hashcat keeps compiled kernels beside its files, so each way of running it has a folder of its own."""
    place.mkdir(parents=True, exist_ok=True)
    for each in folder.iterdir():
        with contextlib.suppress(FileExistsError):  # another process has made it
            if each.name == "hashcat":
                os.link(shutil.copy2(each, place / str(os.getpid())), place / each.name)
            elif each.name != "kernels":
                (place / each.name).symlink_to(each)
    return place / "hashcat"


class Hashcat:
    def __init__(self, given, folder):
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", tempfile.gettempdir()))
        program = own_copy(folder, cache / "cleave-bench-hashcat")
        mask = ["-a", "3", "--markov-disable", "?l" * LENGTH]
        asked = subprocess.run([program, "-m", "1700", "--keyspace", *mask], capture_output=True, text=True)
        if asked.returncode != 0:
            raise role.Unavailable("hashcat: " + (asked.stdout + asked.stderr).strip()[-300:])
        self.inner = len(string.ascii_lowercase) ** LENGTH // int(asked.stdout.split()[-1])  # words for each one of its batches
        self.files = tempfile.TemporaryDirectory(prefix="cleave-bench-")
        hashes, self.found = (pathlib.Path(self.files.name, name) for name in ("hashes", "found"))
        self.words, index = {}, FIRST
        while index < LAST:
            self.words[word(int(index))] = int(index)
            index *= FURTHER
        digests = [hashlib.sha512(each.encode()).hexdigest() for each in (*self.words, "not of twelve letters")]
        hashes.write_text("\n".join(digests) + "\n")
        self.found.touch()
        options = ["--status", "--status-json", "--status-timer", "1", "--potfile-disable", "--restore-disable", "--logfile-disable",
                   "--hwmon-disable", "--backend-ignore-cuda", "--backend-ignore-hip", "--force", "-D", "1,2",
                   *([] if given.quick else TUNED), "--session", f"cleave-bench-{os.getpid()}", "--outfile-format", "2", "-o", self.found]
        self.process = subprocess.Popen([program, "-m", "1700", *options, hashes, *mask], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.changed = threading.Condition()
        self.states, self.said, self.ended = [], [], False  # (time, tried words, paused)
        self.complete = 0  # of its batches, in words without their first letters
        threading.Thread(target=self.follow, daemon=True).start()
        self.press("", lambda: self.states)
        self.pause()
        self.wrong = self.missing()
        self.device = "hashcat's first OpenCL device"

    def follow(self):
        for line in self.process.stdout:
            with self.changed:
                if '"progress"' in line:
                    state = json.loads(line[line.index("{"):])
                    self.states.append((time.monotonic(), state["progress"][0], state["status"] == 4))
                    self.complete = state["restore_point"]
                else:
                    self.said.append(line)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def press(self, keys, until):
        if keys:
            self.process.stdin.write(keys)
            self.process.stdin.flush()
        with self.changed:
            if not self.changed.wait_for(lambda: self.ended or until(), LIMIT) or self.ended:
                raise role.Unavailable("hashcat: " + " ".join(map(str.strip, self.said))[-300:])

    def pause(self):
        """Until the device rests, which is when two looks say the same."""
        self.press("p", lambda: True)
        while True:
            count = len(self.states)
            self.press("s", lambda: len(self.states) > count)
            if len(self.states) > 1 and self.states[-1][2] and self.states[-1][1] == self.states[-2][1]:
                return
            time.sleep(0.1)

    def missing(self):
        """How many of the words in complete batches it has not found. What is found is written before a batch is complete."""
        found = self.found.read_text().split()
        return sum(each not in found for each, index in self.words.items() if index // self.inner < self.complete)

    def result(self):
        return {"values": []}  # the words are checked here

    def right(self):
        return self.wrong == 0

    def work(self, stopped):
        count = len(self.states)
        begin = time.monotonic()
        self.press("rs", lambda: len(self.states) > count)
        before = self.states[count - 1][1]
        while not stopped():
            time.sleep(0.01)
        end = time.monotonic()
        count_then = len(self.states)
        self.press("s", lambda: len(self.states) > count_then)
        moments = self.states[count:]
        self.pause()
        self.wrong += self.missing()
        return {"begin": begin, "ends": [at for at, _, _ in moments],
                "amounts": [(after - of) / WORD for of, after in zip([before, *(n for _, n, _ in moments)], (n for _, n, _ in moments))],
                "told": end}

    def close(self):
        self.process.stdin.write("q")
        self.process.stdin.flush()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def prepare(given):
    for folder in (*map(pathlib.Path, sys.path), *map(pathlib.Path, os.environ.get("PATH", "").split(":"))):
        if (folder / "hashcat" / "hashcat").exists():
            return Hashcat(given, folder / "hashcat")
    raise role.Unavailable("hashcat: no folder of that name with it in PATH or PYTHONPATH")


if __name__ == "__main__":
    role.main(prepare)
