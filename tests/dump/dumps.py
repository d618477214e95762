# SPDX-License-Identifier: Apache-2.0
"""Runs ttmem-dump on what a real ttmemd knows of real processes.

The rest is tests/serve's: a place, a server, loads that stop at each sync.
"""

import contextlib
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402

PROGRAM = None
ROOT = os.environ['SOURCE_ROOT']

# Something of everything on a device whose size is known, to the byte.
KIB = serve.KIB
MIB = serve.MIB
EVERYTHING = '''open 0 chip=0xabc pci=0000:03:00.0 arch=blackhole dram=1G \
l1=1M cores=100 l1_small=16K trace=64M l1_base=64K l1_top=1M
push "op ttnn.matmul"
alloc 0 dram 1 0x1000 8M
alloc 0 dram 2 0x801000 2M
alloc 0 l1 3 0x80000 300K
alloc 0 l1_small 4 0xff000 10K
alloc 0 trace 5 0x10000000 1M
alloc 0 system_memory 6 0x0 4M
pop
cb 0 77 1 0x20000 16K 10
kernel 0 77 application 20000 10
kernel 0 78 fabric 57344 2
kernel 0 79 dispatch 47104 1
kernel 0 80 dispatch 47104 1
sync
'''


@functools.cache
def tool(name):
    """Whether it is there, as after scripts/setup --ci; it is said if not."""
    if not shutil.which(name):
        print(f'note: without {name}')
    return shutil.which(name) is not None


@functools.cache
def schema(name):
    with open(f'{ROOT}/docs/{name}.schema.json', encoding='utf-8') as file:
        text = json.load(file)
    return jsonschema.validators.validator_for(text)(text)


def json_is_good(text):
    """Each line is a document that jq reads and a schema describes."""
    if tool('jq'):
        subprocess.run(['jq', '-e', '.schema_version == (if .type then 1 else 2 end)'], input=text,
                       check=True, text=True, stdout=subprocess.DEVNULL)
    for line in text.splitlines() if jsonschema else ():
        found = json.loads(line)
        name = 'check' if found.get('type') == 'ttmem-check' else 'snapshot'
        serve.expect('faults', [e.message[:200] for e in schema(
            name).iter_errors(found)], [])


def xml_is_good(path):
    if tool('xmllint'):
        subprocess.run(['xmllint', '--noout', path], check=True)


def output_is_good(options, text):
    """Whatever is written for programs, programs accept."""
    options = [str(o) for o in options]
    if '--format' in options and 'json' in options and '-o' not in options \
            and text and 'run' not in options:
        json_is_good(text)
    if '--junit' in options:
        xml_is_good(options[options.index('--junit') + 1])


def run(place, *options, status=0, stdin=None, environment=None, timeout=120):
    """ttmem-dump to its end, with the status that is wanted."""
    env = place.environment()
    env.update(environment or {})
    where = {'stdin': subprocess.DEVNULL} if stdin is None else \
        {'input': stdin}
    done = subprocess.run([PROGRAM, *map(str, options)], text=True, env=env,
                          capture_output=True, check=False, cwd='/',
                          timeout=timeout, **where)
    if done.returncode != status:
        serve.fail(f'{options}: status {done.returncode} and not {status}\n'
                   f'{done.stdout[-2000:]}{done.stderr[-2000:]}')
    if status in (0, 3, 4, 5, 23):
        output_is_good(options, done.stdout)
    return done


def document(place, *options, status=0):
    """The only document of report --format json."""
    done = run(place, 'report', '--format', 'json', *options, status=status)
    lines = done.stdout.splitlines()
    serve.expect('documents', len(lines), 1)
    return serve.Snapshot(json.loads(lines[0]))


def has(text, *parts):
    for part in parts:
        if part not in text:
            serve.fail(f'no {part!r} in:\n{text}')


def has_not(text, *parts):
    for part in parts:
        if part in text:
            serve.fail(f'{part!r} in:\n{text}')


def row(text, start, number=0):
    """The columns of the line that starts so, two blanks apart."""
    lines = [line for line in text.splitlines()
             if line.strip().startswith(start)]
    if len(lines) <= number:
        serve.fail(f'no line {start!r} in:\n{text}')
    return [c.strip() for c in lines[number].strip().split('  ')
            if c.strip()]


def recorded(place, *options):
    """A file with one snapshot in it."""
    return place.file('json', run(place, '--format', 'json', *options).stdout)


def mark_untracked(place):
    """As a process does that could not be tracked: us."""
    path = f'{place.base}/ttmem-{os.getuid()}/u.{os.getpid()}.0.28.'
    with open(path, 'w', encoding='ascii'):
        return path


def busy(place):
    """ttmemd has always something to do and publishes all the time, also before it
    has looked for what is new. What is live then is somebody's who runs."""
    place.popen([place.programs.load, '-q', '--rate', '1000', '--live', '10',
                 '--seconds', '3600', '--dir', place.base])
    place.sees('busy', lambda s: s.one('processes', state='reporting'))


@contextlib.contextmanager
def held_directory(place):
    """A directory of ours that comes after ttmemd, and is held by somebody else
    before ttmemd can see it."""
    os.mkdir(f'{place.base}/made', 0o700)
    with open(f'{place.base}/made/ttmemd.lock', 'w',
              encoding='ascii') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        os.rename(f'{place.base}/made',
                  f'{place.base}/ttmem-{os.getuid()}.other')
        yield


def settle(place, *loads):
    """ttmemd knows all that they have done."""
    return place.settled('ttmemd knows it', *loads)


def run_all(doc, checks):
    global PROGRAM
    if len(sys.argv) < 6:
        print(doc, end='')
        sys.exit(2)
    PROGRAM = os.path.abspath(sys.argv.pop(5))
    return serve.run_all(doc, checks)
