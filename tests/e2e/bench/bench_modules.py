"""The modules of bench/suite, and where its programs are."""

import os
import sys

from support.options import CLEAVE, OPTIONS

PROGRAMS = CLEAVE.parent.parent / "bench"
os.environ["CLEAVE_BENCH"] = str(PROGRAMS)
sys.path.insert(0, str(OPTIONS.suite))

import clients
import compare
import isolation
import metrics
import narrow_relay
import neighbours
import offload
import peer
import pressure_monitor
import remote
import results
import share
import split
import tune
import throttled_link
import turns
