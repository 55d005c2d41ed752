"""`cleave icd cdi`: what it prints is a file of the Container Device Interface, version 0.5.0, and what it names is there. The rules
are those of the specification's text (SPEC.md: "CDI JSON Specification")."""

import json
import re

from command_test import CommandTest
from support.options import DROP_IN, LAYER, LIBRARIES, main

VENDOR = r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
CLASS = r"[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?"
DEVICE = r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?"


class CdiTest(CommandTest):
    def file(self, *options):
        done = self.cleave("icd", "cdi", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def assertIsSpecification(self, file):
        self.assertLessEqual({"cdiVersion", "kind", "devices"}, set(file))
        self.assertLessEqual(set(file), {"cdiVersion", "kind", "devices", "containerEdits"})
        self.assertEqual(file["cdiVersion"], "0.5.0")
        self.assertRegex(file["kind"], f"^{VENDOR}/{CLASS}$")
        self.assertTrue(file["devices"])
        names = [device["name"] for device in file["devices"]]
        self.assertEqual(len(set(names)), len(names))
        for device in file["devices"]:
            self.assertEqual(set(device), {"name", "containerEdits"})
            self.assertRegex(device["name"], f"^{DEVICE}$")
            self.assertTrue(device["containerEdits"], "a device without edits is not valid")
        for edits in (file.get("containerEdits", {}), *(device["containerEdits"] for device in file["devices"])):
            self.assertLessEqual(set(edits), {"env", "deviceNodes", "mounts", "hooks"})
            for variable in edits.get("env", []):
                self.assertRegex(variable, r"^[A-Z_]+=")
            for mount in edits.get("mounts", []):
                self.assertLessEqual({"hostPath", "containerPath"}, set(mount))
                self.assertLessEqual(set(mount), {"hostPath", "containerPath", "options", "type"})
                for path in (mount["hostPath"], mount["containerPath"]):
                    self.assertTrue(path.startswith("/"), path)

    def test_file_is_as_the_specification_says(self):
        self.assertIsSpecification(self.file())
        self.assertIsSpecification(self.file("--kind=example.com/opencl-share", "--shards=16", "--memory=80G"))

    def test_each_number_of_shards_is_a_device(self):
        file = self.file("--shards=4", "--memory=8G", "--registry=/run/cleave/turns")
        self.assertEqual({device["name"]: device["containerEdits"]["env"] for device in file["devices"]}, {
            str(shards): [f"CLEAVE_WEIGHT={100 * shards}", f"CLEAVE_MEMORY_LIMIT={2 * shards << 30}"]
            for shards in (1, 2, 3, 4)})
        self.assertIn("CLEAVE_REGISTRY=/run/cleave/turns", file["containerEdits"]["env"])

    def test_libraries_are_mounted_where_the_variables_name_them(self):
        edits = self.file()["containerEdits"]
        mounts = [mount["containerPath"] for mount in edits["mounts"] if "ro" in mount["options"]]
        libraries = [path for variable in edits["env"] if re.match("LD_PRELOAD|OPENCL_LAYERS", variable)
                     for path in variable.partition("=")[2].split(":")]
        self.assertEqual((libraries[0], libraries[-1]), (str(DROP_IN), str(LAYER)))
        for library in libraries:
            self.assertTrue([mount for mount in mounts if library.startswith(mount)], library)
            self.assertTrue(library.startswith(str(LIBRARIES)))

    def test_mistakes_are_one_line(self):
        for option in ("--kind=gpu", "--kind=/gpu", "--kind=1a/gpu", "--kind=a/b.c", "--shards=0", "--memory=much"):
            done = self.cleave("icd", "cdi", option)
            self.assertEqual((done.returncode, done.stdout), (2, b""), option)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


main()
