"""What tests of limits share: programs that run under Cleave with a registry of the test's own, and talk in lines."""

import json
import subprocess

from support.options import OPTIONS
from support.processes import cleave
from support.programs import LOAD_METHODS, ProgramTest


class LimitsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.registry = str(self.own_folder() / "registry")

    def settings(self, **more):
        return self.environment(**({"CLEAVE_REGISTRY": self.registry, "CLEAVE_VMS": "1", "CLEAVE_TURNS": "on"} | more))

    def start(self, *command, method="preload", **settings):
        prefix, variables = LOAD_METHODS[method]
        environment = self.with_vendor_below(self.settings(**variables, **settings))
        process = subprocess.Popen([*prefix, *(["--"] if prefix else []), *map(str, command)], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def start_taker(self, **options):
        return self.start(OPTIONS.programs / "memory_taker", **options)

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            stream.close()

    @staticmethod
    def ask(process, *words):
        process.stdin.write(" ".join(map(str, words)) + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def top(self):
        done = cleave("top", "--once", "--json", environment=self.settings())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["devices"]

    def file(self, text, name="limits.toml"):
        """A settings file of the test's, replaced as editors do."""
        path = self.own_folder() / name
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)
        return path
