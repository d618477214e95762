#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_runs.py COMMAND...

Runs a benchmark, and fails if it fails, crashes, prints nothing, or leaves a file in
shared memory: TTMEM_DIR, where a benchmark puts its files, is a new folder in /dev/shm
and must be empty afterwards. Figures are not looked at.
"""

import os
import shutil
import subprocess
import sys
import tempfile


def left_in(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, folders, files in os.walk(folder)
                  for name in folders + files)


def check(command):
    """Faults of one run."""
    folder = tempfile.mkdtemp(prefix='ttmem-test.', dir='/dev/shm')
    try:
        done = subprocess.run(
            command, env=dict(os.environ, TTMEM_DIR=folder), check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        left = left_in(folder)
    finally:
        shutil.rmtree(folder)
    print(done.stdout, end='')
    faults = [f'left in shared memory: {name}' for name in left]
    if done.returncode:
        faults.append(f'status {done.returncode}')
    elif not done.stdout:
        faults.append('printed nothing')
    return faults


def self_test():
    for script, wanted in (
            ('echo 1', []),
            ('true', ['printed nothing']),
            ('echo 1; exit 3', ['status 3']),
            ('echo 1; kill -SEGV $$', ['status -11']),
            ('echo 1 | tee "$TTMEM_DIR/a"', ['left in shared memory: a'])):
        found = check(['sh', '-c', script])
        if found != wanted:
            sys.exit(f'self test: {script}: {found} and not {wanted}')


def main():
    if len(sys.argv) < 2:
        print(__doc__, end='')
        return 2
    self_test()
    faults = check(sys.argv[1:])
    for fault in faults:
        print(f'FAIL: {sys.argv[1]}: {fault}')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
