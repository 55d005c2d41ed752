"""What tests of limits share: programs that run under Cleave with a registry of the test's own, and talk in lines."""

from support.options import OPTIONS
from support.programs import ProgramTest


class LimitsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.registry = str(self.own_folder() / "registry")

    def usual(self):
        return {"CLEAVE_REGISTRY": self.registry, "CLEAVE_VMS": "1", "CLEAVE_TURNS": "on"}

    def settings(self, **more):
        return self.environment(**(self.usual() | more))

    def start(self, *command, method="preload", **settings):
        return self.start_talking(method, *command, **(self.usual() | settings))

    def start_taker(self, **options):
        return self.start(OPTIONS.programs / "memory_taker", **options)

    def top(self):
        return self.shared_devices(self.settings())

    def file(self, text, name="limits.toml"):
        """A settings file of the test's, replaced as editors do."""
        path = self.own_folder() / name
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)
        return path
