#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_examples.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

What docs/ci.md says can be copied from there.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap

import dumps
from dumps import ROOT, has, run
from runs import load_of, nothing_left
import serve

TESTS = '''
import ctypes
import pytest

ttmem = ctypes.CDLL('libttmem.so.0')


def alloc(number):
    ttmem.ttmem_alloc(0, 0, ctypes.c_uint64(number), ctypes.c_uint64(0),
                      ctypes.c_uint64(1 << 20))


def test_clean():
    alloc(1)
    ttmem.ttmem_free(0, 0, ctypes.c_uint64(1))


def test_leak():
    alloc(2)


@pytest.mark.parametrize('name', ['x' * 150])
def test_after_it(name):
    pass
'''


def page():
    with open(f'{ROOT}/docs/ci.md', encoding='utf-8') as file:
        return file.read()


def check_commands(place):
    """Each command line is understood, with another command behind it."""
    text = re.sub(r'(run: >|script:)\n', '\n', page())
    lines = re.findall(r'^ +(?:- )?(ttmem-dump [^\n`]*(?:\n +-[^\n]*)*)',
                       text, re.MULTILINE)
    serve.expect('command lines', len(lines), 8)
    place.serve()
    os.mkdir(f'{place.files}/ci')
    clean = load_of(place)
    for line in lines:
        words = [w if '.' not in w else f'{place.files}/{w}' for w in
                 shlex.split(line.replace('\n', ' '))][1:]
        words = words[:words.index('--') + 1] + list(clean) \
            if '--' in words else words
        if '--strict-suppressions' in words:
            with open(words[words.index('--suppressions') + 1], 'w',
                      encoding='ascii') as file:
                file.write('# none is needed\n')
        done = run(place, *words)
        has(done.stdout + done.stderr, 'SUMMARY: ttmem: ')


def pytest_of():
    """The interpreter that has it, or None."""
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and subprocess.run(
                [python, '-m', 'pytest', '--version'], check=False,
                capture_output=True).returncode == 0:
            return python
    print('note: without pytest')
    return None


def check_conftest(place):
    """One test leaks, one that comes after it does not. Without tracking they run
    unchecked."""
    python = pytest_of()
    if not python:
        return
    code, = re.findall(r'\n\n((?:    [^\n]*\n|\n)*?    import pytest\n'
                       r'(?:    [^\n]*\n|\n)*)', page())
    for name, text in (('conftest.py', textwrap.dedent(code)),
                       ('test_it.py', TESTS)):
        with open(f'{place.files}/{name}', 'w', encoding='utf-8') as file:
            file.write(text)
    library = os.path.realpath(os.path.join(
        os.path.dirname(place.programs.load), '../../lib'))
    env = dict(place.environment(), LD_LIBRARY_PATH=library,
               PYTHONPATH=f'{ROOT}/examples/python',
               PYTHONDONTWRITEBYTECODE='1',
               PATH=f'{os.path.dirname(dumps.PROGRAM)}:{os.environ["PATH"]}')
    if subprocess.run([python, '-c', "import ctypes; ctypes.CDLL("
                       "'libttmem.so.0')"], env=env, check=False,
                      capture_output=True).returncode:
        print('note: python does not load a library for sanitizers')
        return
    tests = (python, '-m', 'pytest', '-q', '-rA', '-p', 'no:cacheprovider',
             place.files)
    how = {'check': False, 'text': True, 'capture_output': True,
           'cwd': place.files, 'timeout': 120}
    done = subprocess.run([dumps.PROGRAM, 'run', '--', *tests], env=env, **how)
    text = done.stdout + done.stderr
    serve.expect(f'status of {text}', done.returncode, 1)
    # The body of the test passes, the fixture fails.
    has(text, '3 passed, 1 error', 'ERROR test_it.py::test_leak',
        'device 0: dram: +1048576 bytes, +1 objects',
        'SUMMARY: ttmem: 1048576 bytes leaked in 1 object (1 process, 1 '
        'device)')
    for value, status, said in (('', 0, '3 passed'), ('0', 0, '3 passed'),
                                ('1', 1, '3 passed, 1 error')):
        done = subprocess.run(tests, env=dict(env, TTMEM_ENABLED=value), **how)
        serve.expect(f'TTMEM_ENABLED={value}: {done.stdout}',
                     done.returncode, status)
        has(done.stdout, said)
    nothing_left(place)


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (check_commands, check_conftest)))
