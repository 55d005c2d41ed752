"""The prelude's shorter way to a work-group's id, which only NVIDIA's compiler reads, gives the ids of the whole launch."""

from support.options import OPTIONS, main
from support.programs import ProgramTest


class GroupDivision(ProgramTest):
    def test_slices_have_the_ids_of_the_whole_launch(self):
        self.assertRegex(self.run_native(OPTIONS.programs / "group_division").out, r"^[1-9]\d+ launches right, 0 wrong\n$")


if __name__ == "__main__":
    main()
