#!/usr/bin/env python3
"""Prints every place where a library that programs load opens a descriptor other than through src/base/files/own_descriptors.h, where it
gets a number that is not the program's, and every one of a kind without an identity, which could not be told from the program's own.
One argument: the repository."""

import pathlib
import re
import sys

# What is linked into somebody else's process.
IN_PROGRAMS = ("icd", "src/base", "src/interpose", "src/kernels", "src/launch", "src/learn", "src/limits", "src/neighbours", "src/objects",
               "src/observe", "src/opencl", "src/plan", "src/turns", "remote/client", "remote/protocol", "remote/transport")

CALLS = ("accept", "accept4", "creat", "creat64", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "eventfd", "fanotify_init", "fdopen",
         "fopen", "fopen64", "freopen", "getaddrinfo", "getifaddrs", "getnameinfo", "gethostbyname", "inotify_init", "inotify_init1",
         "io_uring_setup", "memfd_create", "mkostemp", "mkstemp", "open", "open64", "open_by_handle_at", "openat", "openat2", "openat64",
         "opendir", "fdopendir", "openlog", "syslog", "perf_event_open", "pidfd_getfd", "pidfd_open", "pipe", "pipe2", "popen", "recvmsg",
         "recvmmsg", "scandir", "shm_open", "signalfd", "socket", "socketpair", "timerfd_create", "tmpfile", "userfaultfd",
         "SSL_CTX_load_verify_file", "SSL_CTX_set_default_verify_paths", "SSL_CTX_use_PrivateKey_file", "SSL_CTX_use_certificate_chain_file",
         "BIO_new_file")
# All of these are one inode to fstat(2) (src/base/files/verified_descriptor.h).
ANONYMOUS = ("epoll_create", "epoll_create1", "eventfd", "fanotify_init", "inotify_init", "inotify_init1", "io_uring_setup", "perf_event_open",
             "pidfd_open", "signalfd", "timerfd_create", "userfaultfd")
# A call, with or without `::`; not a member's or another scope's of that name, nor its declaration or definition.
CALL = re.compile(r"(?<![\w.:>~])(?:::)?(" + "|".join(CALLS) + r")\s*\((?!\))")
DECLARATION = re.compile(r"^\s*(?!return\b|else\b|case\b)(?:\[\[nodiscard\]\] )?[\w:<>,&* ]*[\w>&*]\s+[&*]?(?:" + "|".join(CALLS) + r")\(")
TYPES = re.compile(r"\bstd::(?:basic_)?[io]?f(?:stream|ilebuf)\b|\b(?:recursive_)?directory_iterator\b|\bcopy_file\b|\brandom_device\b|\bF_DUPFD\w*")

# Within the parentheses of these, and below a HeldStandardNumbers in the same function, what is opened is moved or out of the way.
WRAPPED = re.compile(r"open_high\(|HeldStandardNumbers \w+;")
WRAPPED_LINES = 25  # behind it

# Files that may, and why.
EXCEPTIONS = {
    "src/base/files/own_descriptors.cpp": "the one way",
    "src/observe/trace_index.cpp": "only `cleave trace` calls it",
    "src/observe/trace_merge.cpp": "only `cleave trace` calls it",
    "src/interpose/broker/figures_page.cpp": "only the server's workers and their brokers use it",
    "remote/transport/descriptor_passing.cpp": "only the server receives descriptors",
}


def code_of(path):
    """The lines without comments and texts."""
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), path.read_text(), flags=re.DOTALL)
    return [re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"", "", line) for line in text.splitlines()]


def opens(line):
    if TYPES.search(line):
        return TYPES.search(line)[0]
    found = CALL.search(line)
    return found[1] if found and not DECLARATION.match(line) else None


def faults(root):
    unused = set(EXCEPTIONS)
    for top in IN_PROGRAMS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            name = path.relative_to(root).as_posix()
            lines = code_of(path)
            wrapped_until = -1
            for number, line in enumerate(lines):
                if WRAPPED.search(line):
                    wrapped_until = number + WRAPPED_LINES
                if line.startswith("}"):
                    wrapped_until = -1
                what = opens(line)
                if what is None or (number <= wrapped_until and what not in ANONYMOUS):
                    continue
                if what in ANONYMOUS:
                    yield f"{name}:{number + 1}: {what} gives a descriptor without an identity: use base/files/wake_channel.h or poll()'s timeout"
                elif name in EXCEPTIONS:
                    unused.discard(name)
                else:
                    yield f"{name}:{number + 1}: {what} gives a descriptor any number: open it through base/files/own_descriptors.h"
    yield from (f"{name}: no exception is needed" for name in sorted(unused))


def finds_what_it_should():
    """Whether each kind of opening is seen at all."""
    bad = ["  const int fd = ::open(path, flags);", "  fd = openat(folder, name, flags);", "  std::ifstream file(path);",
           "  if (const int one = dup(fd); one >= 0) return;", "  return fcntl(fd, F_DUPFD_CLOEXEC, 0);", "  file_.open(eventfd(0, 0));",
           "  wake_ = base::FileDescriptor(memfd_create(name, 0));", "  FILE* const file = fopen(path, mode);"]
    good = ["  connection_.open(destination);", "  static std::shared_ptr<Connection> open(const std::string& address,",
            "  this->open();", "  return Connection::open(address);", "  base::open_own(path, flags);", "  void open(int fd);"]
    return all(map(opens, bad)) and not any(map(opens, good))


def main():
    found = list(faults(pathlib.Path(sys.argv[1]).resolve()))
    if not finds_what_it_should():
        found.append("this test does not see what it should")
    print("\n".join(found) or "all descriptors of ours are opened in one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
