"""The ground `processes`: plain processes, pinned to the same cores; what the other grounds begin with."""

import os

import programs


class Processes:
    name = "processes"

    def __init__(self, cores):
        self.cores = cores

    @staticmethod
    def usable():
        return True

    def start(self, who, *command, settings=None):
        """A measuring program whose output can be read while it runs. No two that run at a time have the same name."""
        return programs.start(*command, settings=settings, enter=self.entrance(who))

    def entrance(self, who):
        """What the process does before its exec."""
        del who
        return lambda: os.sched_setaffinity(0, self.cores)

    def close(self):
        pass
