"""`cleave layer`: the layer registered for a machine, in a root of the test's own, and for a user."""

import os
import subprocess

from command_test import CommandTest
from support.options import CLEAVE, LAYER, main
from support.processes import clean_environment, require_installed


class Layer(CommandTest):
    def setUp(self):
        super().setUp()
        self.layers = self.folder / "layers"
        self.file = self.layers / "cleave.lay"

    def layer(self, *arguments, status=0, **environment):
        done = self.cleave("layer", *arguments, environment=environment)
        self.assertEqual(done.returncode, status, done)
        return (done.stdout if status == 0 or not done.stderr else done.stderr).decode()

    def machine(self, action, *arguments, **options):
        apply = [] if action == "status" else ["--apply"]
        return self.layer(action, "--layers", self.layers, *apply, *arguments, **options)

    def test_install_writes_one_line_and_uninstall_removes_it(self):
        self.machine("status", status=1)
        self.assertIn("Done: ", self.machine("install"))
        # Khronos' loader takes the whole file but for one newline at its end.
        self.assertEqual(self.file.read_text(), f"{LAYER}\n")
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o644)
        self.assertEqual([file.name for file in self.layers.iterdir()], ["cleave.lay"])
        self.assertIn("Nothing to do", self.machine("install"))
        self.assertIn(f"Registered in {self.file}: {LAYER}\n", self.machine("status"))
        self.machine("uninstall")
        self.assertFalse(self.layers.exists())
        self.assertIn("Nothing to do", self.machine("uninstall"))

    def test_other_layers_stay(self):
        self.layers.mkdir()
        (self.layers / "other.lay").write_text("/x/libother.so\n")
        self.machine("install")
        self.machine("uninstall")
        self.assertEqual([file.name for file in self.layers.iterdir()], ["other.lay"])

    def test_foreign_file_of_that_name_is_left_alone(self):
        self.layers.mkdir()
        self.file.write_text("/x/libother.so\n")
        for action in ("install", "uninstall"):
            self.assertRegex(self.machine(action, status=1), r"\Acleave: [^\n]*cleave.lay [^\n]*not Cleave's[^\n]*\n\Z")
        self.assertEqual(self.file.read_text(), "/x/libother.so\n")

    def test_dry_run_changes_nothing(self):
        said = self.layer("install", "--layers", self.layers, "--dry-run")
        self.assertIn("would ", said)
        self.assertIn("Nothing was changed.\n", said)
        self.assertFalse(self.layers.exists())

    def test_another_root(self):
        root = self.folder / "root"
        (root / "opt").mkdir(parents=True)
        (root / "opt/libcleave-layer.so").write_bytes(LAYER.read_bytes())
        self.layer("install", "--root", root, "--library", "/opt/libcleave-layer.so", "--apply")
        self.assertEqual((root / "etc/OpenCL/layers/cleave.lay").read_text(), "/opt/libcleave-layer.so\n")
        self.assertRegex(self.layer("install", "--root", root, "--library", "/opt/none.so", "--apply", status=1), "missing or not a library")

    def test_user(self):
        config = {"XDG_CONFIG_HOME": str(self.folder / "config")}
        file = self.folder / "config/environment.d/50-cleave.conf"
        self.layer("status", "--user", status=1, **config)
        self.layer("install", "--user", **config)
        self.assertIn("Registered in ", self.layer("status", "--user", **config))
        # As systemd reads it for the user's sessions.
        generator = require_installed("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator", "systemd")
        for before, after in ({}, str(LAYER)), ({"OPENCL_LAYERS": "/x.so"}, f"{LAYER}:/x.so"):
            done = subprocess.run([generator], env=clean_environment(**config, **before), capture_output=True, text=True, check=True)
            self.assertIn(f"OPENCL_LAYERS={after}\n", done.stdout)
        self.layer("uninstall", "--user", **config)
        self.assertFalse(file.exists())

    def test_home_is_missing(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CONFIG_HOME")}
        done = subprocess.run([CLEAVE, "layer", "install", "--user"], env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Acleave: HOME is not set[^\n]*\n\Z")


if __name__ == "__main__":
    main()
