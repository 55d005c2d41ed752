"""Isolation by `processes`: plain processes, pinned to the same cores; the base of the other kinds."""

import os

import programs


class Processes:
    name = "processes"

    def __init__(self, cores):
        self.cores = cores

    @staticmethod
    def usable():
        return True

    def start(self, name, *command, settings=None):
        """A measuring program whose output can be read while it runs. No two that run at a time have the same name."""
        return programs.start(*command, settings=settings, enter=self.preexec(name))

    def preexec(self, name):
        """What the process does before its exec."""
        del name
        return lambda: os.sched_setaffinity(0, self.cores)

    def close(self):
        pass
