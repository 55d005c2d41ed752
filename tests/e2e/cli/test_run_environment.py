"""The environment that `cleave run` makes for the program."""

import json
import sys

from surroundings import CLEAVE, DROP_IN, LAYER, STUB, CommandTest, main

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


class Environment(CommandTest):
    def made(self, *arguments, command=CLEAVE, environment=None):
        done = self.cleave(
            "run", *arguments, "--", sys.executable, "-c", SHOW, command=command, environment=environment
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.complaint = done.stderr.decode()
        return json.loads(done.stdout)


class Settings(Environment):
    def test_options_become_variables(self):
        config = self.folder / "cleave.toml"
        config.write_text("")
        made = self.made(
            "--vms", "5", "--alpha=3", "--policy", "fixed:7", "--launch", "queued", "--stats", "--config", config
        )
        expected = {
            "CLEAVE_VMS": "5",
            "CLEAVE_ALPHA": "3",
            "CLEAVE_SPLIT": "fixed:7",
            "CLEAVE_LAUNCH": "queued",
            "CLEAVE_STATS": "stderr",
            "CLEAVE_CONFIG": str(config),
        }
        self.assertEqual({k: v for k, v in made.items() if k.startswith("CLEAVE_")}, expected)

    def test_statistics_may_name_standard_error(self):
        self.assertEqual(self.made("--stats=stderr")["CLEAVE_STATS"], "stderr")

    def test_paths_become_absolute(self):
        self.assertTrue(self.made("--stats=out.json")["CLEAVE_STATS"].endswith("/out.json"))
        self.assertTrue(self.made("--stats=out.json")["CLEAVE_STATS"].startswith("/"))

    def test_without_options_variables_stay_as_they_were(self):
        self.assertFalse([name for name in self.made() if name.startswith("CLEAVE_")])
        self.assertEqual(self.made(environment={"CLEAVE_VMS": "7"})["CLEAVE_VMS"], "7")

    def test_the_innermost_run_wins(self):
        made = self.made("--vms", "2", "--alpha", "9", CLEAVE, "run", "--vms", "3")
        self.assertEqual((made["CLEAVE_VMS"], made["CLEAVE_ALPHA"]), ("3", "9"))


class Libraries(Environment):
    def test_all_ways_at_once(self):
        made = self.made()
        self.assertEqual(made["LD_PRELOAD"], f"{DROP_IN}:{STUB}")
        self.assertEqual(made["LD_LIBRARY_PATH"], str(DROP_IN.parent))
        self.assertEqual(made["OPENCL_LAYERS"], str(LAYER))
        self.assertEqual(self.complaint, "")

    def test_others_come_behind_in_their_order(self):
        before = {
            "LD_PRELOAD": "libm.so.6 libdl.so.2:librt.so.1",
            "LD_LIBRARY_PATH": "/one::/two",
            "OPENCL_LAYERS": "/b/layer.so:/a/layer.so",
        }
        made = self.made(environment=before)
        self.assertEqual(made["LD_PRELOAD"], f"{DROP_IN}:{STUB}:libm.so.6:libdl.so.2:librt.so.1")
        self.assertEqual(made["LD_LIBRARY_PATH"], f"{DROP_IN.parent}:/one::/two")
        self.assertEqual(made["OPENCL_LAYERS"], f"{LAYER}:/b/layer.so:/a/layer.so")
        self.assertEqual(made["CLEAVE_LAYERS"], made["OPENCL_LAYERS"])

    def test_nesting_changes_nothing(self):
        before = {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/one:", "OPENCL_LAYERS": "/a.so:/b.so"}
        once = self.made(environment=before)
        self.assertEqual(self.made(CLEAVE, "run", "--", CLEAVE, "run", environment=before), once)

    def test_layers_that_the_loader_cut_off_are_put_back(self):
        everything = f"{LAYER}:/a.so:/b.so"
        made = self.made(environment={"OPENCL_LAYERS": str(LAYER), "CLEAVE_LAYERS": everything})
        self.assertEqual((made["OPENCL_LAYERS"], made["CLEAVE_LAYERS"]), (everything, everything))

    def test_layers_that_the_user_changed_since_are_the_users(self):
        made = self.made(environment={"OPENCL_LAYERS": "/c.so", "CLEAVE_LAYERS": f"{LAYER}:/a.so"})
        self.assertEqual(made["OPENCL_LAYERS"], f"{LAYER}:/c.so")
        self.assertNotIn("CLEAVE_LAYERS", self.made(environment={"CLEAVE_LAYERS": "/x.so:/y.so"}))


class Places(Environment):
    def test_a_path_with_a_space_falls_back(self):
        command = self.copy_of_installation("with a space")
        libraries = command.parent.parent / "lib"
        made = self.made(command=command)
        self.assertRegex(self.complaint, r"\Acleave: LD_PRELOAD cannot hold [^\n]+\n\Z")
        self.assertNotIn("LD_PRELOAD", made)
        self.assertEqual(made["LD_LIBRARY_PATH"], str(libraries / "cleave"))
        self.assertEqual(made["OPENCL_LAYERS"], str(libraries / "libcleave-layer.so"))

    def test_a_path_with_a_colon_is_refused(self):
        done = self.cleave("run", "true", command=self.copy_of_installation("with:colon"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rb"\Acleave: [^\n]+ colons; [^\n]+\n\Z")

    def test_a_broken_installation_is_refused(self):
        for number, missing in enumerate(("cleave/libOpenCL.so.1", "cleave/libOpenCL.so", "libcleave-layer.so")):
            command = self.copy_of_installation(f"broken{number}")
            library = command.parent.parent / "lib" / missing
            library.unlink()
            done = self.cleave("run", "true", command=command)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(done.stderr.decode(), rf"\Acleave: [^\n]*{library} is missing[^\n]*\n\Z")

    def test_a_link_to_the_command_will_do(self):
        link = self.folder / "cleave"
        link.symlink_to(CLEAVE)
        self.assertEqual(self.made(command=link)["OPENCL_LAYERS"], str(LAYER))


main()
