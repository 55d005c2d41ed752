"""Runs a mutant's tests; passes if one of them fails, and prints which: the first one, which is enough."""

import re
import subprocess
import sys

done = subprocess.run([sys.argv[1], "--gtest_brief=1", "--gtest_fail_fast"], capture_output=True, text=True, timeout=250, check=False)
failed = sorted(set(re.findall(r"^\[  FAILED  \] ([\w/.]+)", done.stdout, re.MULTILINE)))
if done.returncode == 0:
    sys.exit("the mutant survived: no test noticed it")
print(f"caught, exit status {done.returncode}: {', '.join(failed) or done.stderr[-300:]}")
