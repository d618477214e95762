#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_ctypes.py LIBTTMEM SEGDUMP

Loads the library into Python with ctypes and lets hooks fire from threads, from
exit handlers and from objects that the interpreter drops while it shuts down.
The interpreter must end as always, and the segment must be right.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r'''
import atexit
import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
u32, u64 = ctypes.c_uint32, ctypes.c_uint64
library.ttmem_alloc.argtypes = (u32, ctypes.c_int, u64, u64, u64)
library.ttmem_alloc.restype = None
library.ttmem_free.argtypes = (u32, ctypes.c_int, u64)
library.ttmem_free.restype = None
library.ttmem_scope_push.argtypes = (ctypes.c_char_p, u32)
library.ttmem_scope_push.restype = u32
DRAM, L1, TRACE = 0, 1, 4


class Buffer:
    def __init__(self, kind, number):
        self.kind, self.number = kind, number
        # Kept: names of the module may be gone when it is dropped.
        self.free = library.ttmem_free
        library.ttmem_alloc(0, kind, number, 0x1000, 100)

    def __del__(self):
        self.free(0, self.kind, self.number)


def churn(base):
    library.ttmem_scope_push(b'python', 0)
    for number in range(base, base + 200):
        Buffer(L1, number)


threads = [threading.Thread(target=churn, args=(n * 1000,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# Survivors, which nobody frees.
for number in range(5):
    library.ttmem_alloc(0, DRAM, number, 0, 10)
atexit.register(library.ttmem_free, 0, DRAM, 4)

# Dropped in the shutdown: by the module, by a cycle, by another module.
kept = [Buffer(TRACE, 1), Buffer(TRACE, 2)]
kept.append(kept)
sys.buffer_of_ours = Buffer(TRACE, 3)
atexit.register(Buffer, TRACE, 4)
print('done')
sys.exit(int(sys.argv[2]))
'''


def fail(text):
    print(text)
    sys.exit(1)


def run(library, base, status, enabled):
    environment = dict(os.environ, TTMEM_DIR=base, TTMEM_ENABLED=enabled)
    for name in ('TT_ALLOC_TRACKING_ENABLED', 'TTMEM_RUN_ID'):
        environment.pop(name, None)
    ended = subprocess.run(
        [sys.executable, '-c', PROGRAM, library, str(status)],
        capture_output=True, text=True, env=environment, check=False)
    if (ended.returncode, ended.stdout, ended.stderr) != (
            status, 'done\n', ''):
        fail(f'enabled={enabled}: status {ended.returncode} instead of '
             f'{status}\n{ended.stdout}{ended.stderr}')
    return glob.glob(f'{base}/ttmem-*/p.*')


def main():
    if len(sys.argv) != 3:
        print(__doc__, end='')
        return 2
    library, segdump = sys.argv[1:]
    base = tempfile.mkdtemp(prefix='ttmem-test.', dir='/dev/shm')
    try:
        if run(library, base, 0, '0'):
            fail('a segment although tracking is off')
        for status in (0, 3):
            segments = run(library, base, status, '1')
            if len(segments) != 1:
                fail(f'{len(segments)} segments')
            dump = subprocess.run([segdump, '-c', segments[0]],
                                  capture_output=True, text=True, check=False)
            if dump.returncode:
                fail(dump.stderr)
            check(dump.stdout)
            os.unlink(segments[0])
    finally:
        shutil.rmtree(base)
    print('ctypes: all is well')
    return 0


def figure(dump, name):
    """Objects allocated, freed and live of a figure."""
    found = re.search(rf'^figure .*figure={name} alloc_objects=(\d+) .*'
                      r'free_objects=(\d+) .*live_objects=(\d+)', dump,
                      re.MULTILINE)
    return tuple(map(int, found.groups())) if found else None


def check(dump):
    """What the program did, with what the interpreter still dropped."""
    if figure(dump, 'dram') != (5, 1, 4):
        fail(f'five allocated, one freed at exit:\n{dump}')
    if figure(dump, 'l1') != (800, 800, 0):
        fail(f'four threads, 200 objects each:\n{dump}')
    allocated, freed, live = figure(dump, 'trace') or (0, 0, 0)
    # Python does not promise to drop all, but it does drop some.
    if allocated != 4 or freed < 2 or live != allocated - freed:
        fail(f'four that lived until the shutdown:\n{dump}')
    if 'state=2' not in dump.split('\n'):
        fail(f'not ended:\n{dump}')


if __name__ == '__main__':
    sys.exit(main())
