"""OpenCL C programs that include files of this machine, built in many ways. Prints the result of each: the number that its
kernel returns, or the compiler's log. Run by test_includes.py, in a folder of its own; with `some`, of a few."""

import os
import re
import sys
import threading
from pathlib import Path

import pyopencl as cl

FOLDER = Path(sys.argv[1]).resolve()
KERNEL = "\nkernel void give(global int* out) { out[0] = NUMBER; }\n"

platform = cl.get_platforms()[0]
context = cl.Context(platform.get_devices())
device = context.devices[0]
queue = cl.CommandQueue(context)


def write(path, text):
    file = FOLDER / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def number(value):
    return f"#define NUMBER {value}\n"


def result_of(built):
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
    kernel = cl._cl.Kernel(built, "give")
    kernel.set_arg(0, out)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
    data = bytearray(4)
    cl.enqueue_copy(queue, data, out)
    return int.from_bytes(data, "little")


def log_of(built):
    log = built.get_build_info(device, cl.program_build_info.LOG)
    log = re.sub(r"\S*/tempfile_\w+\.cl", "PROGRAM", log)  # PoCL's copy of the program's own source
    log = re.sub(r"\S*/tempdir_\w+/", "GIVEN/", log)
    return "\n".join(line for line in log.splitlines() if "failed to build" not in line)


def show(name, build):
    try:
        built, options = build()
        reported = built.get_build_info(device, cl.program_build_info.OPTIONS)
        outcome = f"{result_of(built)}, {'the same options' if reported == options else reported}"
    except cl.Error as error:
        outcome = f"{error.code}"
    print(f"{name}: {outcome}", flush=True)


def build(name, source, options=""):
    def work():
        program = cl._cl._Program(context, source + KERNEL)
        try:
            program._build(options.encode(), [device])
        except cl.Error:
            print(log_of(program).replace(str(FOLDER), "FOLDER"))
            raise
        return program, options

    show(name, work)


def compile_and_link(name, source, headers, options=""):
    def work():
        program = cl._cl._Program(context, source + KERNEL)
        given = [(path, cl._cl._Program(context, text)) for path, text in headers]
        try:
            program.compile(options.encode(), [device], given)
        except cl.Error:
            print(log_of(program).replace(str(FOLDER), "FOLDER"))
            raise
        linked = cl._cl._Program.link(context, [program], b"", [device])
        return linked, linked.get_build_info(device, cl.program_build_info.OPTIONS)

    show(name, work)


def prepare():
    write("here.h", number(1))
    write("one/header.h", number(10))
    write("two/header.h", number(20))
    write("two/only.h", number(21))
    write("both.h", number(2))
    write("one/both.h", number(12))
    write("deep/a.h", '#include "b/c.h"\n')
    write("deep/b/c.h", '#include "../d.h"\n')
    write("deep/d.h", "#ifndef GUARD\n#define GUARD\n#include \"b/../d.h\"\n#include \"a.h\"\n" + number(30) + "#endif\n")
    write("once.h", "#pragma once\n#include \"deep/../once.h\"\nint twice() { return 2; }\n" + number("twice()"))
    write("next/first/chain.h", "#include_next <chain.h>\n#define NUMBER (NEXT + 1)\n")
    write("next/second/chain.h", "#define NEXT 40\n")
    write("asks.h", '#if __has_include("one/header.h")\n#include "one/header.h"\n#else\n' + number(-1) + "#endif\n")
    write("by_macro.h", "#define OTHER \"two/header.h\"\n#define LAST OTHER\n")
    write("broken.h", "\n\nint f() { return missing; }\n" + number(50))
    write("one/broken_one.h", "int g() { return missing; }\n" + number(51))
    write("uses_given.h", '#include "given.h"\n')
    write("given.h", number(60))
    write("spa ce/spaced.h", number(70))
    (FOLDER / "linked.h").symlink_to("one/header.h")
    write("line.h", "\nconstant int line = __LINE__;\n#define NUMBER line\n")


def build_some():
    """What depends on where the files are, and on their names."""
    build("an absolute folder", '#include "header.h"', f"-I {FOLDER}/two")
    build("a roundabout folder", '#include "header.h"', "-I one/.././two/")
    build("from above", '#include "header.h"', f"-I ../{FOLDER.name}/one")
    build("nested, by two ways", '#include "a.h"\n#include "deep/a.h"', f"-I {FOLDER}/deep")
    build("named by a macro", '#include "by_macro.h"\n#include LAST')
    build("named by an option", "#include WHICH", "-D WHICH=<two/header.h>")
    build("wrong in an absolute option's file", '#include "broken_one.h"', f"-I {FOLDER}/one")
    build("a line of a file", '#include "line.h"')


def build_others():
    build("in the current folder", '#include "here.h"')
    build("in the current folder, in angles", "#include <here.h>")
    build("as an option", '#include "header.h"', "-I one")
    build("as an option without a blank", '#include "header.h"', "-Ione")
    build("the first of several", '#include "header.h"', "-I two -I one")
    build("only in the second", '#include "only.h"', "-I one -D X=1 -I two -cl-mad-enable")
    build("the current folder comes first", '#include "both.h"', "-I one")
    build("a folder that is not there", '#include "header.h"', "-I nowhere -I one")
    build("nested", '#include "deep/a.h"')
    build("nested, from an option", '#include "a.h"', "-I deep")
    build("once", '#include "once.h"\n#include "deep/b/../../once.h"')
    build("the next one", "#include <chain.h>", "-I next/first -I next/second")
    build("asked for", '#include "asks.h"')
    build("left out by a condition", '#if 0\n#include "nowhere.h"\n#endif\n#include "here.h"')
    build("in a comment", '/* #include "nowhere.h"\n*/ // #include "nowhere.h"\n#include /* this */ "here.h"')
    build("over two lines", '#inc\\\nlude \\\n  "here.h"')
    build("through a link", '#include "linked.h"')
    build("not at all", '#include "nowhere.h"', "-I one")
    build("wrong in a file", '#include "broken.h"')
    build("wrong in an option's file", '#include "broken_one.h"', "-I one")
    build("wrong behind a file", '#include "here.h"\nint h() { return missing; }')
    build("many", "".join(f'#include "many/{i}.h"\n' for i in range(300)) + number("SUM(0)"))
    compile_and_link("compiled", '#include "deep/a.h"', [])
    compile_and_link("compiled with headers that are given", '#include "given.h"', [("given.h", number(61))])
    compile_and_link("given ones include files", '#include "given.h"', [("given.h", '#include "here.h"')])
    compile_and_link("files beside given ones", '#include "given.h"\n#include "line.h"\n#undef NUMBER\n' + number(62),
                     [("given.h", "")], "-I one")


def build_changing():
    """The same text again and again, while what it includes changes."""
    for i in range(3):
        write("changes.h", number(100 + i))
        build("changed", '#include "changes.h"')
    os.chdir(FOLDER / "one")
    build("elsewhere", '#include "header.h"')
    os.chdir(FOLDER)


def build_at_once():
    outcomes = {}

    def work(i):
        program = cl._cl._Program(context, '#include "header.h"' + KERNEL)
        program._build(b"-I one" if i % 2 else b"-I two", [device])
        outcomes[i] = result_of(program)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(outcomes.items()))


os.chdir(FOLDER)
prepare()
for index in range(300):
    write(f"many/{index}.h", "#define SUM(x) x\n" if index == 0 else f"constant int number_{index} = {index};\n")
build_some()
if "some" not in sys.argv[2:]:
    build_others()
    build_changing()
    build_at_once()
