"""The environment that `cleave run` gives the program."""

import json
import sys

from command_test import CommandTest
from support.options import CLEAVE, DROP_IN, LAYER, STUB, main

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


class Environment(CommandTest):
    def run_and_get_environment(self, *arguments, command=CLEAVE, environment=None):
        done = self.cleave(
            "run", *arguments, "--", sys.executable, "-c", SHOW, command=command, environment=environment
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.message = done.stderr.decode()
        return json.loads(done.stdout)


class Settings(Environment):
    def test_options_set_variables(self):
        config = self.folder / "cleave.toml"
        config.write_text("")
        variables = self.run_and_get_environment(
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
        self.assertEqual({k: v for k, v in variables.items() if k.startswith("CLEAVE_")}, expected)

    def test_statistics_may_name_standard_error(self):
        self.assertEqual(self.run_and_get_environment("--stats=stderr")["CLEAVE_STATS"], "stderr")

    def test_paths_become_absolute(self):
        self.assertTrue(self.run_and_get_environment("--stats=out.json")["CLEAVE_STATS"].endswith("/out.json"))
        self.assertTrue(self.run_and_get_environment("--stats=out.json")["CLEAVE_STATS"].startswith("/"))

    def test_variables_without_options_are_unchanged(self):
        self.assertFalse([name for name in self.run_and_get_environment() if name.startswith("CLEAVE_")])
        self.assertEqual(self.run_and_get_environment(environment={"CLEAVE_VMS": "7"})["CLEAVE_VMS"], "7")

    def test_innermost_cleave_run_takes_precedence(self):
        variables = self.run_and_get_environment("--vms", "2", "--alpha", "9", CLEAVE, "run", "--vms", "3")
        self.assertEqual((variables["CLEAVE_VMS"], variables["CLEAVE_ALPHA"]), ("3", "9"))


class LoadersVariables(Environment):
    def test_they_are_unchanged(self):
        # docs/loaders.md
        given = {name: f"/{name}:/x" for name in (
            "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH", "OPENCL_LAYER_PATH", "OCL_ICD_PLATFORM_SORT",
            "OCL_ICD_DEFAULT_PLATFORM", "OCL_ICD_ENABLE_TRACE")}
        variables = self.run_and_get_environment(environment=given)
        self.assertEqual({name: variables.get(name) for name in given}, given)


class Libraries(Environment):
    def test_preload_library_path_and_layer_are_set(self):
        variables = self.run_and_get_environment()
        self.assertEqual(variables["LD_PRELOAD"], f"{DROP_IN}:{STUB}")
        self.assertEqual(variables["LD_LIBRARY_PATH"], str(DROP_IN.parent))
        self.assertEqual(variables["OPENCL_LAYERS"], str(LAYER))
        self.assertEqual(variables["ASAN_OPTIONS"], "verify_asan_link_order=0")
        self.assertEqual(self.message, "")

    def test_options_of_the_sanitizer_are_kept(self):
        for before, after in (("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
                              ("verify_asan_link_order=1", "verify_asan_link_order=1")):
            variables = self.run_and_get_environment(environment={"ASAN_OPTIONS": before})
            self.assertEqual(variables["ASAN_OPTIONS"], after)

    def test_existing_entries_follow_in_their_order(self):
        before = {
            "LD_PRELOAD": "libm.so.6 libdl.so.2:librt.so.1",
            "LD_LIBRARY_PATH": "/one::/two",
            "OPENCL_LAYERS": "/b/layer.so:/a/layer.so",
        }
        variables = self.run_and_get_environment(environment=before)
        self.assertEqual(variables["LD_PRELOAD"], f"{DROP_IN}:{STUB}:libm.so.6:libdl.so.2:librt.so.1")
        self.assertEqual(variables["LD_LIBRARY_PATH"], f"{DROP_IN.parent}:/one::/two")
        self.assertEqual(variables["OPENCL_LAYERS"], f"{LAYER}:/b/layer.so:/a/layer.so")
        self.assertEqual(variables["CLEAVE_LAYERS"], variables["OPENCL_LAYERS"])

    def test_nested_cleave_run_changes_nothing(self):
        before = {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/one:", "OPENCL_LAYERS": "/a.so:/b.so"}
        once = self.run_and_get_environment(environment=before)
        self.assertEqual(self.run_and_get_environment(CLEAVE, "run", "--", CLEAVE, "run", environment=before), once)

    def test_layers_truncated_by_the_loader_are_restored(self):
        everything = f"{LAYER}:/a.so:/b.so"
        variables = self.run_and_get_environment(environment={"OPENCL_LAYERS": str(LAYER), "CLEAVE_LAYERS": everything})
        self.assertEqual((variables["OPENCL_LAYERS"], variables["CLEAVE_LAYERS"]), (everything, everything))

    def test_layers_changed_by_the_user_are_kept(self):
        variables = self.run_and_get_environment(environment={"OPENCL_LAYERS": "/c.so", "CLEAVE_LAYERS": f"{LAYER}:/a.so"})
        self.assertEqual(variables["OPENCL_LAYERS"], f"{LAYER}:/c.so")
        self.assertNotIn("CLEAVE_LAYERS", self.run_and_get_environment(environment={"CLEAVE_LAYERS": "/x.so:/y.so"}))


class Places(Environment):
    def test_path_with_a_space_is_not_preloaded(self):
        command = self.copy_of_installation("with a space")
        libraries = command.parent.parent / "lib"
        variables = self.run_and_get_environment(command=command)
        self.assertRegex(self.message, r"\Acleave: LD_PRELOAD cannot hold [^\n]+\n\Z")
        self.assertNotIn("LD_PRELOAD", variables)
        self.assertEqual(variables["LD_LIBRARY_PATH"], str(libraries / "cleave"))
        self.assertEqual(variables["OPENCL_LAYERS"], str(libraries / "libcleave-layer.so"))

    def test_path_with_a_colon_is_refused(self):
        done = self.cleave("run", "true", command=self.copy_of_installation("with:colon"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rb"\Acleave: [^\n]+ separator of library lists; [^\n]+\n\Z")

    def test_incomplete_installation_is_refused(self):
        for number, missing in enumerate(("cleave/libOpenCL.so.1", "cleave/libOpenCL.so", "libcleave-layer.so")):
            command = self.copy_of_installation(f"broken{number}")
            library = command.parent.parent / "lib" / missing
            library.unlink()
            done = self.cleave("run", "true", command=command)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(done.stderr.decode(), rf"\Acleave: [^\n]*{library} is missing[^\n]*\n\Z")

    def test_symbolic_link_to_the_command_works(self):
        link = self.folder / "cleave"
        link.symlink_to(CLEAVE)
        self.assertEqual(self.run_and_get_environment(command=link)["OPENCL_LAYERS"], str(LAYER))


main()
