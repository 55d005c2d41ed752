"""Waiting for conditions. Needs no options, unlike the rest of this package."""

import time

TIMEOUT = 60  # seconds until something that should happen is taken never to; a busy machine may need most of it


def wait_until(condition, message, timeout=TIMEOUT):
    """Polls `condition` until it is true. `message` is the failure's: a text, or a function that returns one."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {message() if callable(message) else message}")
        time.sleep(0.02)
