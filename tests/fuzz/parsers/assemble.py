"""Turns a seed for the SPIR-V harness into a module: assemble.py TEXT MODULE

Each line is an instruction: its opcode and its operands, as numbers or as "texts" without blanks. The word count is put
in front. A line that begins with "words" gives words as they are. What follows a # is for people.
"""

import pathlib
import struct
import sys


def words_of(operand):
    if operand.startswith('"'):
        text = operand.strip('"').encode() + b"\0"
        return struct.unpack(f"<{(len(text) + 3) // 4}I", text + b"\0" * (-len(text) % 4))
    return (int(operand, 0),)


def assemble(line):
    first, *operands = line
    words = [word for operand in operands for word in words_of(operand)]
    return words if first == "words" else [(len(words) + 1) << 16 | int(first)] + words


def main():
    lines = [line.split("#")[0].split() for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    words = [word for line in lines if line for word in assemble(line)]
    pathlib.Path(sys.argv[2]).write_bytes(struct.pack(f"<{len(words)}I", *words))


if __name__ == "__main__":
    main()
