"""`cleave run --explain` says on standard error which launches stayed whole, why, and what to do about it."""

from support.options import main
from support.programs import PYTHON, ProgramTest

# One kernel that is split, one that uses an intrinsic, and a launch of one work-group.
PROGRAM = """
import numpy
import pyopencl as cl

SOURCE = '''kernel void plain(global uint* out) { out[get_global_id(0)] = get_group_id(0); }
kernel void intrinsic(global uint* out) {
  out[get_global_id(0)] = __builtin_expect(get_group_id(0), 0);
}
'''
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
values = numpy.zeros(1024, dtype=numpy.uint32)
for kernel in (program.plain, program.intrinsic):
    kernel(queue, (1024,), (16,), out)
    cl.enqueue_copy(queue, values, out)
    print(values.sum())
program.plain(queue, (64,), (64,), out)
queue.finish()
"""


class Explain(ProgramTest):
    def explained(self, *options):
        command = PYTHON, "-c", PROGRAM
        native = self.run_native(*command)
        run = self.assertUnchanged(native, "run", *command, options=("--vms", "5", *options), CLEAVE_MIN_ITEMS="0")
        self.assertTrue(run.err.startswith(native.err), run)
        return run, run.err[len(native.err):].splitlines()

    def test_says_for_each_kernel_why_it_stayed_whole_and_what_to_do(self):
        run, lines = self.explained("--explain")
        self.assertEqual(run.total("split"), 1, run)
        self.assertEqual(lines[0], "cleave: intrinsic: 1 launch, 0 split", run)
        self.assertRegex(lines[1], r"\Acleave:   1 kernel: .+", run)
        self.assertRegex(lines[2], r"\Acleave:     `__builtin_expect` is used in line 3\Z", run)
        self.assertRegex(lines[3], r"\Acleave:     what to do: .*__builtin_expect.*", run)
        self.assertEqual(lines[4], "cleave: plain: 2 launches, 1 split", run)
        self.assertRegex(lines[5], r"\Acleave:   1 one_group: the launch has one work-group, .+", run)
        self.assertRegex(lines[6], r"\Acleave:     what to do: nothing, .+", run)
        self.assertEqual(len(lines), 7, run)

    def test_json_has_the_same(self):
        run, lines = self.explained()
        self.assertEqual(lines, [], "nothing is printed unless it is asked for")
        causes = {kernel["name"]: kernel["causes"] for kernel in run.stats[0]["kernels"]}
        self.assertEqual([each["reason"] for each in causes["plain"]], ["one_group"], run)
        (only,) = causes["intrinsic"]
        self.assertEqual((only["reason"], only["launches"]), ("kernel", 1), run)
        (found,) = only["findings"]
        self.assertEqual((found["construct"], found["file"], found["line"]), ("__builtin_expect", "", 3), run)
        self.assertIn("__builtin_expect", only["advice"], run)


if __name__ == "__main__":
    main()
