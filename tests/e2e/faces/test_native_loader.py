"""The loader below the drop-in is the one that the dynamic linker gives the program without Cleave: the same program is run
natively and under Cleave, in made-up folders, with a made-up cache, and with loaders that programs bring along."""

import os
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

from support.options import FOLDER, OPTIONS, main
from support.processes import require_installed
from support.programs import ProgramTest, driver_icd

HERE = Path(__file__).parent
LOADER = "libOpenCL.so.1"
BUNDLED = "libOpenCL-0123abcd.so.1"


def link(folders, new=True):
    """The linker's options for a run path."""
    return [f"-Wl,{'--enable' if new else '--disable'}-new-dtags,-rpath,{folders}"]


class NativeLoader(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = {}
        cls.loader = cls.compile("fake", "fake_loader.c", "-shared", "-fPIC", f"-Wl,-soname,{LOADER}")
        cls.bundled = cls.compile("bundled", "fake_loader.c", "-shared", "-fPIC", f"-Wl,-soname,{BUNDLED}")
        for name in "abc":
            cls.place(cls.loader, name, LOADER)
        (cls.folder / "empty").mkdir()

    @classmethod
    def compile(cls, name, source, *options):
        output = cls.folder / name
        if not output.exists():
            output.parent.mkdir(exist_ok=True, parents=True)
            subprocess.run([OPTIONS.cc, "-O1", "-DCL_TARGET_OPENCL_VERSION=300", HERE / source, "-o", output, *map(str, options), "-ldl"], check=True)
        return output

    @classmethod
    def place(cls, file, folder, name):
        (cls.folder / folder).mkdir(exist_ok=True, parents=True)
        return Path(shutil.copy(file, cls.folder / folder / name))

    @classmethod
    def program(cls, name, *options):
        return cls.compile(name, "which_loader.c", "-DPROGRAM", *options)

    @classmethod
    def linked(cls, name, *options):
        """A program that is linked against a loader."""
        return cls.program(name, "-DLINKED", "-Wl,--no-as-needed", cls.loader, *options)

    @classmethod
    def library(cls, name, *options):
        return cls.compile(f"{name}/libasks.so", "which_loader.c", "-shared", "-fPIC", "-Wl,-soname,libasks.so", *options)

    def path(self, *names):
        return ":".join(str(self.folder / name) for name in names)

    def check(self, *command, answer=None, prefix=(), **settings):
        """The same answer natively and under Cleave, and Cleave was there. Returns it without the folder."""
        native = self.run_native(*prefix, *command, **settings)
        for method in ("preload", "run", "library_path"):
            with self.subTest(method):
                # The setting is a mistake, about which a Cleave that is called says a line.
                run = self.assertUnchanged(native, method, *prefix, *command, **settings, CLEAVE_SPLIT="nonsense")
                if method != "library_path":
                    self.assertIn("CLEAVE_SPLIT", run.err, f"Cleave was not asked\n{run}")
        if answer is not None:
            self.assertIn(str(answer), native.out, f"the linker's own answer is not what the test is about\n{native}")

    def fake(self, *parts):
        return self.folder.joinpath(*parts, LOADER)

    def test_library_path_in_its_order(self):
        self.check(self.linked("linked"), LD_LIBRARY_PATH=self.path("missing", "empty", "b", "a"), answer=self.fake("b"))

    def test_empty_entry_of_the_library_path_is_the_current_folder(self):
        os.chdir(self.folder / "c")
        self.addCleanup(os.chdir, "/")
        self.check(self.linked("linked"), LD_LIBRARY_PATH=":" + self.path("b"), answer=self.fake("c"))

    def test_rpath_comes_before_the_library_path(self):
        self.check(self.linked("rpath", *link("$ORIGIN/a", new=False)), LD_LIBRARY_PATH=self.path("b"),
                   answer=self.fake("a"))

    def test_runpath_comes_after_the_library_path(self):
        program = self.linked("runpath", *link("$ORIGIN/empty:$ORIGIN/a"))
        self.check(program, LD_LIBRARY_PATH=self.path("b"), answer=self.fake("b"))
        self.check(program, answer=self.fake("a"))

    def using(self, name, library, *options):
        """A program that uses a library that is linked against a loader."""
        return self.program(name, "-DUSES", library, "-Wl,--allow-shlib-undefined", *options)

    def test_run_path_is_that_of_the_library_that_needs_it(self):
        library = self.library("own", *link("$ORIGIN/../b"), self.loader)
        self.check(self.using("uses_own", library, *link("$ORIGIN/own:$ORIGIN/a")), answer=self.fake("b"))

    def test_rpath_of_the_program_counts_for_its_libraries(self):
        library = self.library("plain", self.loader)
        self.check(self.using("uses_plain", library, *link("$ORIGIN/plain:$ORIGIN/a", new=False)), answer=self.fake("a"))

    def test_runpath_of_the_program_does_not(self):
        library = self.library("plain", self.loader)
        self.check(self.using("uses_plain_run", library, *link("$ORIGIN/plain:$ORIGIN/a")), answer="platforms")

    def test_rpath_of_the_library_comes_before_the_programs(self):
        library = self.library("own_rpath", *link("$ORIGIN/../b", new=False), self.loader)
        self.check(self.using("uses_own_rpath", library, *link("$ORIGIN/own_rpath:$ORIGIN/a", new=False)),
                   answer=self.fake("b"))

    def test_rpath_of_the_program_does_not_count_for_a_library_with_a_runpath(self):
        library = self.library("own_runpath", *link("$ORIGIN/../empty"), self.loader)
        self.check(self.using("uses_own_runpath", library, *link("$ORIGIN/own_runpath:$ORIGIN/a", new=False)),
                   answer="platforms")

    def test_folders_for_newer_processors_come_first(self):
        for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v9"):
            self.place(self.loader, f"levels/glibc-hwcaps/{level}", LOADER)
        self.place(self.loader, "levels", LOADER)
        # Each level needs features that none below it does.
        for off in ("", "-AVX512VL", "-LZCNT", "-POPCNT"):
            self.check(self.linked("linked"), LD_LIBRARY_PATH=self.path("levels"), answer=self.folder / "levels",
                       GLIBC_TUNABLES=f"glibc.cpu.hwcaps={off}")

    def test_libraries_of_other_architectures_are_skipped(self):
        other = bytearray(self.loader.read_bytes())
        struct.pack_into("<H", other, 18, 0xF3 if os.uname().machine != "riscv64" else 0x3E)
        (self.folder / "other").mkdir()
        self.fake("other").write_bytes(other)
        self.check(self.linked("linked"), LD_LIBRARY_PATH=self.path("other", "b"), answer=self.fake("b"))

    def test_opened_by_its_name(self):
        if not (self.folder / "a/libOpenCL.so").is_symlink():
            (self.folder / "a/libOpenCL.so").symlink_to(LOADER)
        program = self.program("opens", *link("$ORIGIN/a"))
        self.check(program, LOADER, answer=self.fake("a"))
        self.check(program, "libOpenCL.so", answer=self.fake("a"))
        self.check(program, LOADER, LD_LIBRARY_PATH=self.path("c"), answer=self.fake("c"))

    def test_opened_by_a_library_with_a_run_path(self):
        library = self.library("opening", "-DOPENS", *link("$ORIGIN/../b"))
        self.check(self.program("opens", *link("$ORIGIN/a")), "call", library, answer=self.fake("b"))

    def test_loader_that_was_loaded_before_a_library_that_needs_one(self):
        library = self.library("plain", self.loader)
        self.check(self.program("opens", *link("$ORIGIN/a")), "load", self.fake("c"), "call", library,
                   answer=self.fake("c"))

    def test_loader_that_is_loaded_after_the_programs(self):
        """As a plugin may do with a loader of its own."""
        self.check(self.program("opens", *link("$ORIGIN/a")), LOADER, self.fake("c"), answer=self.fake("a"))

    def test_loader_that_is_opened_with_the_calling_library(self):
        self.place(self.bundled, "plugin", BUNDLED)
        calls = self.library("calls")
        plugin = self.compile("plugin/plugin.so", "which_loader.c", "-Dwhich_loader=unused", "-shared", "-fPIC",
                              "-Wl,--no-as-needed", calls, self.bundled, *link("$ORIGIN:$ORIGIN/../calls"))
        self.check(self.program("opens", *link("$ORIGIN/a")), "call", plugin,
                   answer=self.folder / "plugin" / BUNDLED)

    def test_loader_is_loaded_once(self):
        says = self.compile("saying", "fake_loader.c", "-DSAYS", "-shared", "-fPIC", f"-Wl,-soname,{LOADER}")
        self.place(says, "says", LOADER)
        self.check(self.linked("linked"), LD_LIBRARY_PATH=self.path("says"), answer="loaded\n0 platforms")
        self.check(self.linked("linked"), prefix=self.with_cache(self.folder / "says"), answer="loaded\n0 platforms")

    def test_bundled_loader_of_a_library(self):
        """As in the packages that pip installs."""
        self.place(self.bundled, "wheel/.libs", BUNDLED)
        library = self.library("wheel", *link("$ORIGIN/.libs", new=False), self.bundled)
        program = self.program("opens", *link("$ORIGIN/a"))
        self.check(program, "call", library, answer=self.folder / "wheel/.libs" / BUNDLED)
        # The program's own loader comes before.
        self.check(self.linked("runpath", *link("$ORIGIN/empty:$ORIGIN/a")), "call", library, answer=self.fake("a"))

    def test_bundled_loader_of_the_program(self):
        self.place(self.bundled, "wheel/.libs", BUNDLED)
        self.check(self.program("bundles", "-DLINKED", self.bundled, *link("$ORIGIN/wheel/.libs")),
                   answer=self.folder / "wheel/.libs" / BUNDLED)

    def like_a_loader(self, name, *options):
        """A library that has OpenCL's functions, or some, and another name."""
        return self.compile(f"{name}/lib{name}.so", "fake_loader.c", "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so",
                            "-Wl,--no-as-needed", *options)

    def behind(self, name, *libraries):
        """A program that needs these libraries, in this order."""
        folders = ":".join(f"$ORIGIN/{library.parent.name}" for library in libraries)
        return self.program(name, "-DLINKED", "-Wl,--no-as-needed,--allow-shlib-undefined", *libraries,
                            *link(f"{folders}:$ORIGIN/a"))

    def test_tracer_that_opens_the_loader_is_no_loader(self):
        forwards = self.like_a_loader("forwards", "-DFORWARDS")
        self.check(self.behind("forwarded", forwards), LD_LIBRARY_PATH=self.path("b"), answer=self.fake("b"))

    def test_tracer_before_the_loader_is_no_loader(self):
        """It has no next loader where Cleave has taken its place, and ends the program if it is called."""
        alone = self.like_a_loader("tracer", "-DNEXT")
        needs = self.like_a_loader("needing", "-DNEXT", self.loader, *link("$ORIGIN/../b"))
        self.check(self.behind("traced", alone, self.loader), answer=self.fake("a"))
        self.check(self.behind("traced_needing", needs, self.loader), answer=self.fake("a"))
        self.check(self.behind("traced_only", needs), answer=self.fake("b"))

    def test_tracer_that_is_preloaded_is_no_loader(self):
        tracer = self.like_a_loader("tracer", "-DNEXT")
        self.check(self.linked("runpath", *link("$ORIGIN/empty:$ORIGIN/a")), LD_PRELOAD=tracer, answer=self.fake("a"))

    def test_library_with_one_function_is_no_loader(self):
        partial = self.like_a_loader("partial", "-DPARTIAL", self.loader, *link("$ORIGIN/../b"))
        self.check(self.behind("half", partial, self.loader), answer=self.fake("a"))

    def test_functions_that_a_loader_has_from_cleave_are_not_used(self):
        partial = self.like_a_loader("partial", "-DPARTIAL", self.loader, *link("$ORIGIN/../b"))
        run = self.run_program("preload", self.linked("linked"), CLEAVE_NEXT=partial)
        self.assertEqual(run.status, 0, run)
        self.assertRegex(run.out, r"\A0 platforms, , -\d+\n\Z", "an error, and no endless circle")

    def test_driver_in_place_of_a_loader(self):
        driver = self.like_a_loader("driver", "-DDRIVER")
        self.check(self.behind("driven", driver), answer=driver)
        self.check(self.behind("driven_first", driver, self.loader), answer=driver)
        self.check(self.linked("runpath", *link("$ORIGIN/empty:$ORIGIN/a")), LD_PRELOAD=driver, answer=driver)

    def test_driver_that_is_preloaded_by_its_command(self):
        library = Path(driver_icd("oclgrind")).with_name("liboclgrind-rt.so")
        self.check(self.linked("linked"), LD_PRELOAD=library, answer="1 platforms, Oclgrind")

    def test_driver_behind_the_programs_loader(self):
        driver = self.like_a_loader("driver", "-DDRIVER")
        self.check(self.behind("driven_last", self.loader, driver), answer=self.fake("a"))

    def test_cleaves_own_folder_is_skipped_in_every_place(self):
        self.check(self.linked("behind", *link(f"{FOLDER}:$ORIGIN/a")), answer=None, LD_LIBRARY_PATH=self.path("empty"),
                   CLEAVE_STATS="")

    def with_cache(self, *folders):
        """The command in front of a program for which the linker's cache has these folders, in this order."""
        bwrap = require_installed("bwrap", "bubblewrap")
        settings = self.own_folder() / "ld.so.conf"
        cache = self.own_folder() / "ld.so.cache"
        settings.write_text("".join(f"{folder}\n" for folder in folders))
        subprocess.run([require_installed("/sbin/ldconfig", "libc-bin"), "-X", "-f", settings, "-C", cache], check=True)
        prefix = [bwrap, "--dev-bind", "/", "/", "--ro-bind", cache, "/etc/ld.so.cache"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no rights for a mount namespace")
        return prefix

    def test_cache_comes_before_the_default_folders(self):
        self.check(self.linked("linked"), prefix=self.with_cache(self.folder / "a", self.folder / "b"), answer=self.fake("a"))
        self.check(self.linked("linked"), prefix=self.with_cache(self.folder / "b", self.folder / "a"), answer=self.fake("b"))

    def test_only_the_first_entry_of_the_cache_counts(self):
        """The linker goes on with the default folders if that file is gone."""
        self.place(self.loader, "gone", LOADER)
        prefix = self.with_cache(self.folder / "gone", self.folder / "b")
        self.fake("gone").unlink()
        self.check(self.linked("linked"), prefix=prefix)

    def test_cache_comes_after_run_paths(self):
        self.check(self.linked("runpath", *link("$ORIGIN/empty:$ORIGIN/a")), prefix=self.with_cache(self.folder / "b"),
                   answer=self.fake("a"))

    def test_cache_with_folders_for_newer_processors(self):
        self.place(self.loader, "cached/glibc-hwcaps/x86-64-v2", LOADER)
        self.place(self.loader, "cached", LOADER)
        self.check(self.linked("linked"), prefix=self.with_cache(self.folder / "a", self.folder / "cached"))

    def test_library_that_does_without_the_default_folders(self):
        system = Path(OPTIONS.loader).parent
        library = self.library("nodefault", "-Wl,-z,nodefaultlib", self.loader)
        program = self.program("opens", *link("$ORIGIN/a"))
        self.check(program, "call", library, prefix=self.with_cache(self.folder / "b", system), answer=self.fake("b"))


if __name__ == "__main__":
    main()
