#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo with tools that are built already: in a pipe, on a terminal, and ended
by a signal. It shows what it says, and leaves neither processes nor files.
"""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ['SOURCE_ROOT']
BUILD = os.path.abspath(os.environ['BUILD_ROOT'])
DEMO = [f'{ROOT}/scripts/demo', '--build', BUILD]
DEADLINE = 120


def fail(*words):
    print(*words)
    sys.exit(1)


def expect_in(output, *texts):
    for text in texts:
        if text not in output:
            fail(f'not shown: {text!r} in\n{output[-6000:]}')


def processes_of(marker):
    """Pids of whoever has the marker in its environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if marker.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def expect_nothing_left(base, marker):
    end = time.monotonic() + DEADLINE
    while processes_of(marker):
        if time.monotonic() > end:
            fail(f'left running: {processes_of(marker)}')
        time.sleep(0.05)
    if os.listdir(base):
        fail(f'left in {base}: {os.listdir(base)}')


def environment(base, marker, **more):
    env = dict(os.environ, TTMEM_DEMO_BASE=base, DOCS_DEMO=marker, **more)
    for name in ('TTMEM_DIR', 'TTMEM_ENABLED', 'TTMEM_RUN_ID'):
        env.pop(name, None)
    return env


def test_in_a_pipe(base):
    done = subprocess.run(DEMO, env=environment(base, base), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE)
    if done.returncode != 0:
        fail(f'status {done.returncode}\n{done.stdout}')
    expect_in(done.stdout, 'ttmem-top --once', '4 devices  3 processes',
              'p150', 'scope "op ttnn.matmul"', 'exit status is 23',
              'SUMMARY: ttmem: 50331648 bytes leaked in 1 object')
    expect_nothing_left(base, base)


def read_until(fd, seen, text, end):
    while text not in seen:
        ready = select.select([fd], [], [], max(0, end - time.monotonic()))[0]
        if not ready:
            fail(f'not shown: {text!r} in\n{seen[-3000:]!r}')
        try:
            seen += os.read(fd, 65536)
        except OSError:
            fail(f'ended without {text!r}:\n{seen[-3000:]!r}')
    return seen


def test_on_a_terminal(base):
    end = time.monotonic() + DEADLINE
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(DEMO[0], DEMO, environment(
            base, base, TERM='xterm', LC_ALL='C', COLUMNS='120', LINES='40'))
    seen = read_until(fd, b'', b'Enter starts it', end)
    os.write(fd, b'\n')
    seen = read_until(fd, seen, b'Quit', end)
    os.write(fd, b'q')
    read_until(fd, seen, b'That was all', end)
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # nobody has the terminal open any more
    if os.waitpid(pid, 0)[1] != 0:
        fail('the demo failed on a terminal')
    expect_nothing_left(base, base)


def test_ended_midway(base):
    process = subprocess.Popen(
        DEMO, env=environment(base, base), text=True, bufsize=1,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    for line in process.stdout:
        if 'A load' in line:
            break
    else:
        fail('no load was started')
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    if process.wait(DEADLINE) != 143:
        fail(f'status {process.returncode} after SIGTERM')
    expect_nothing_left(base, base)


if __name__ == '__main__':
    for test in (test_in_a_pipe, test_on_a_terminal, test_ended_midway):
        place = tempfile.mkdtemp(prefix='ttmem-demo-test.', dir='/dev/shm')
        try:
            test(place)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        print(f'{test.__name__}: PASS')
