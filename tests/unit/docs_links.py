"""Checks that the documents speak of what there is: links and their anchors, paths in the tree, names in the code."""

import bisect
import functools
import pathlib
import re
import sys

TOP = ("include", "src", "icd", "remote", "monitor", "tests", "bench", "cmake", "docs")
SOURCES = (".h", ".cpp", ".c", ".def", ".fbs", ".py", ".txt", ".cmake", ".toml", ".in")
# Made by a build, or on other machines.
NOT_IN_THE_TREE = ("tests/libcleave-sim.so",)

LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
TREE_PATH = re.compile(rf"(?:{'|'.join(TOP)})/[\w./*-]*")
FILE_NAME = re.compile(r"[\w./-]+\.(?:h|cpp|py|def|fbs)")
FOLDER_NAME = re.compile(r"[\w-]+(?:/[\w-]+)*/")
QUALIFIED = re.compile(r"[A-Za-z_]\w*(?:::\w+)+")
# Of this tree, not of system headers such as CL/cl.h.
SOURCE_PATH = re.compile(r"(?<![\w./-])(?!CL/)(?:[\w-]+/)+\w+\.(?:h|cpp|py|def|fbs)\b")
TEST_NAME = re.compile(r"[A-Z]\w+\.[A-Z]\w{4,}(?:…|\.\.\.)?")


def documents(root):
    folders = [root / top for top in TOP]
    found = [*root.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))]
    return sorted(path for path in found if "build" not in path.relative_to(root).parts)


def without_blocks(text):
    """The text with its fenced blocks emptied, so that line numbers stay."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)


def anchor(heading):
    """The anchor that the usual renderers make of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(path):
    return {anchor(found) for found in re.findall(r"^#+ (.*)$", without_blocks(path.read_text()), re.M)}


@functools.lru_cache(maxsize=None)
def texts(root):
    files = (path for top in TOP if top != "docs" for path in (root / top).rglob("*") if path.suffix in SOURCES)
    return [path.read_text(errors="replace") for path in files]


@functools.lru_cache(maxsize=None)
def code(root):
    return "\n".join(texts(root))


@functools.lru_cache(maxsize=None)
def words(root):
    """All words of the code, sorted. A search of the whole text for each name would take a hundred times as long."""
    return sorted(set(re.findall(r"\w+", code(root))))


def has_word(begin, root, whole=True):
    """Whether a word of the code is `begin`, or begins so."""
    at = bisect.bisect_left(words(root), begin)
    found = words(root)[at : at + 1]
    return found == [begin] or bool(not whole and found and found[0].startswith(begin))


@functools.lru_cache(maxsize=None)
def types(root):
    """The text of each file that defines a class, struct, union or enum, by the type's name."""
    found = {}
    for text in texts(root):
        for name in re.findall(r"\b(?:class|struct|union|enum class|enum)\s+(?:\[\[\w+\]\]\s+|[A-Z_]+(?:\([^)]*\))?\s+)?(\w+)[^;{()]*\{", text):
            found.setdefault(name, []).append(text)
    return found


def is_in_the_code(qualified, root):
    """Whether a name such as `Class::member` or `folder::Class` is there: a member in a file that defines its class, or in
    the source file next to it; anything else anywhere."""
    *scopes, name = qualified.split("::")
    if scopes[-1] in types(root):
        return any(re.search(rf"\b{name}\b", text) for text in types(root)[scopes[-1]])
    return all(has_word(part, root) for part in [*scopes, name])


def link_fault(target, document):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, fragment = target.partition("#")
    file = (document.parent / path).resolve() if path else document
    if not file.exists():
        return "there is no such file"
    if fragment and file.suffix == ".md" and fragment not in anchors(file):
        return "there is no such heading"
    return None


def code_fault(text, document, root):
    """What is wrong with a text in code style, if it names a path, a file, or something of the code."""
    if TREE_PATH.fullmatch(text):
        return None if text in NOT_IN_THE_TREE or any(root.glob(text.rstrip("/"))) else "there is no such path"
    if FOLDER_NAME.fullmatch(text) and document.name == "README.md":
        return None if (document.parent / text).is_dir() or (root / text).is_dir() else "there is no such folder"
    if FILE_NAME.fullmatch(text) and "NAME" not in text and document.name == "README.md" and document.parent != root:
        near = root / document.relative_to(root).parts[0]
        return None if (root / text).exists() or any(near.rglob(text)) else "there is no such file near it"
    if QUALIFIED.fullmatch(text) and not text.startswith("std::"):
        return None if is_in_the_code(text, root) else "the code has no such name"
    if TEST_NAME.fullmatch(text):
        suite, name = text.rstrip("….").split(".")
        known = has_word(suite, root) and has_word(name, root, whole=False)
        return None if known else "there is no such test"
    return None


def faults(root):
    for document in documents(root):
        for number, line in enumerate(without_blocks(document.read_text()).splitlines(), 1):
            found = [(text, link_fault(text, document)) for text in LINK.findall(line)]
            found += [(text, code_fault(text, document, root)) for text in CODE.findall(line)]
            for text, why in found:
                if why:
                    yield f"{document.relative_to(root)}:{number}: {text}: {why}"
    yield from comment_faults(root)


def comment_faults(root):
    """Files that comments of C++ name by a path, and documents that any source names."""
    for name in sorted(set(re.findall(r"\bdocs/[\w/-]+\.md\b", code(root)))):
        if not (root / name).exists():
            yield f"a comment names {name}: there is no such file"
    paths = ["/" + str(path.relative_to(root)) for top in TOP for path in (root / top).rglob("*") if path.is_file()]
    for comment in sorted(set(re.findall(r"^\s*//.*$|\s// .*$", code(root), re.M))):
        for name in SOURCE_PATH.findall(comment):
            if not any(path.endswith("/" + name) for path in paths):
                yield f"a comment names {name}: there is no such file: {comment.strip()}"


def main():
    found = list(faults(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
