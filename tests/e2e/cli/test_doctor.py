"""The report of `cleave doctor`: libraries, settings, loader, neighbours."""

import socket
import threading

from command_test import CommandTest
from support.options import CLEAVE, LIBRARIES, main

LOADER_WITHOUT_LAYERS = """
extern "C" int clGetPlatformIDs(unsigned, void** platforms, unsigned* count) {
  static int platform;
  if (platforms) *platforms = &platform;
  if (count) *count = 1;
  return 0;
}
extern "C" void* clGetExtensionFunctionAddress(const char*) { return nullptr; }
"""


class Healthy(CommandTest):
    def test_healthy_machine_reports_every_section_and_exits_0(self):
        status, report = self.doctor()
        self.assertEqual(status, 0, report)
        for section in ("Libraries", "Settings in force", "Loader", "Platforms and devices", "Neighbours"):
            self.assertRegex(report, rf"(?m)^{section}$")
        self.assertIn(f"drop-in, stub and layer are in {LIBRARIES}", report)
        self.assertRegex(report, r"ok +calls go to /\S*libOpenCL\.so")
        self.assertRegex(report, r"estimated at \d+ cores; a small kernel ran with the correct result")
        self.assertRegex(report, r"its driver's waits (spin|sleep) \(CPU time: \d+ % of a wait of \d+ ms\)")
        self.assertIn("No problems found.", report)

    def test_healthy_under_cleave_run(self):
        done = self.cleave("run", "--", CLEAVE, "doctor")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_this_loader_loads_the_layer(self):
        self.assertIn("ok       it loads Cleave's layer", self.doctor()[1])

    def test_writes_no_statistics(self):
        file = self.folder / "stats.json"
        self.doctor(CLEAVE_STATS=str(file), CLEAVE_VMS="4")
        self.assertFalse(file.exists())

    def test_writes_no_trace(self):
        trace = self.folder / "trace.json"
        settings = self.folder / "cleave.toml"
        settings.write_text(f"[observe]\ntrace = '{trace}'\n")
        self.doctor(CLEAVE_CONFIG=str(settings))
        self.assertFalse(trace.exists())


class Settings(CommandTest):
    def test_values_are_reported_with_their_origin(self):
        file = self.folder / "cleave.toml"
        file.write_text("[split]\nalpha = 6\n")
        status, report = self.doctor(CLEAVE_VMS="5", CLEAVE_CONFIG=str(file))
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"neighbours\.count +5 +CLEAVE_VMS\n")
        self.assertRegex(report, rf"split\.alpha +6 +{file}:2\n")
        self.assertNotRegex(report, r"disable +\S+ +default\n")
        self.assertIn("all others have their default values", report)
        self.assertRegex(self.doctor("--all")[1], r"disable +\S+ +default\n")
        self.assertIn("counts 5 virtual machines, including this one (from: CLEAVE_VMS)", report)

    def test_invalid_value_is_a_problem(self):
        status, report = self.doctor(CLEAVE_ALPHA="much")
        self.assertEqual(status, 1)
        self.assertRegex(report, r"problem +CLEAVE_ALPHA[^\n]*much[^\n]*\n +-> ")

    def test_old_names_are_notes(self):
        status, report = self.doctor(CLEAVE_MAX_AGE="30", CLEAVE_COUNT_BY="busy")
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"note +CLEAVE_MAX_AGE is an old name\n +-> a count holds for 10 seconds")
        self.assertRegex(report, r"note +CLEAVE_COUNT_BY is an old name\n +-> CLEAVE_NEIGHBOURS=busy")

    def test_variables_of_the_slurm_plugin_are_no_mistakes(self):
        status, report = self.doctor(CLEAVE_SLURM_FOLDER="/run/job")
        self.assertEqual(status, 0, report)
        self.assertNotIn("CLEAVE_SLURM_FOLDER", report)

    def test_misspelt_variables_are_problems_with_suggestions(self):
        misspelt = {
            "CLEAVE_VM": "CLEAVE_VMS",
            "CLEAVE_ALHPA": "CLEAVE_ALPHA",
            "CLEAVE_LAUCNH": "CLEAVE_LAUNCH",
            "CLEAVE_MINITEMS": "CLEAVE_MIN_ITEMS",
        }
        status, report = self.doctor(**{name: "3" for name in misspelt}, CLEAVE_UNLIKE_ANY="1")
        self.assertEqual(status, 1)
        for name, meant in misspelt.items():
            self.assertRegex(report, rf"problem +{name} is not a setting[^\n]*\n +-> did you mean {meant}\?")
        self.assertRegex(report, r"problem +CLEAVE_UNLIKE_ANY is not a setting[^\n]*\n +-> unset it")


class Neighbours(CommandTest):
    def test_readable_and_missing_count_files(self):
        file = self.folder / "vms"
        file.write_text("3\n")
        status, report = self.doctor(CLEAVE_NEIGHBOURS=f"file:{file},file:{file}-not")
        self.assertEqual(status, 0, report)
        self.assertIn("counts 3 virtual machines", report)
        self.assertRegex(report, rf"ok +file:{file}: read, 3 virtual machines, confirmed \d+\.\d s ago\n")
        self.assertRegex(report, rf"note +file:{file}-not: unreadable, no count yet\n +-> ")

    def test_reachable_monitor_is_reported(self):
        path = self.folder / "monitor.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()

            def serve():
                client, _ = server.accept()
                with client:
                    client.sendall(b"cleave-monitor 1 heartbeat=2000\ncount 1 4 2\n")
                    client.recv(1)  # until it hangs up

            thread = threading.Thread(target=serve)
            thread.start()
            status, report = self.doctor(CLEAVE_NEIGHBOURS=f"unix:{path}")
            thread.join()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, rf"ok +monitor at unix:{path}: connected, 4 virtual machines, confirmed ")

    def test_unreachable_monitor_is_a_note(self):
        status, report = self.doctor(CLEAVE_NEIGHBOURS="unix:/nonexistent/socket")
        self.assertEqual(status, 0, report)
        self.assertIn("counts 1 virtual machine, ", report)
        self.assertRegex(report, r"note +monitor at unix:/nonexistent/socket: unreachable, no count yet\n +-> start ")

    def test_fixed_count_names_its_origin(self):
        _, report = self.doctor(CLEAVE_VMS="5")
        self.assertIn("counts 5 virtual machines, including this one (from: CLEAVE_VMS)", report)
        self.assertNotIn("monitor:", report)


class Broken(CommandTest):
    def report_of(self, command):
        done = self.cleave("doctor", command=command)
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        return done.stdout.decode()

    def test_missing_library_is_a_problem(self):
        command = self.copy_of_installation("missing")
        library = command.parent.parent / "lib" / "cleave" / "libOpenCL.so.1"
        library.unlink()
        self.assertRegex(self.report_of(command), rf"problem +{library} is missing\n +-> ")

    def test_invalid_library_is_a_problem(self):
        command = self.copy_of_installation("none")
        library = command.parent.parent / "lib" / "cleave" / "libOpenCL.so.1"
        library.write_text("not a library")
        self.assertRegex(self.report_of(command), r"problem +the drop-in does not answer: [^\n]+\n +-> ")

    def test_loader_without_layers_is_a_note(self):
        loader = self.compile("libOpenCL.so.1", LOADER_WITHOUT_LAYERS, "-shared", "-fPIC")
        _, report = self.doctor(CLEAVE_NEXT=str(loader))
        self.assertIn(f"calls go to {loader}", report)
        self.assertRegex(report, r"note +it does not load layers")


main()
