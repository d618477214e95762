#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_gate.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

check, the leak gate: what counts, what is excused, what is missing; each exit status.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

import dumps
from dumps import has, has_not, run
import serve

try:
    import jsonschema
except ImportError:
    jsonschema = None

KIB, MIB = dumps.KIB, dumps.MIB
ROOT = os.environ['SOURCE_ROOT']
LEAK = '''open 0 chip=1
push "a.one"
alloc 0 dram 1 0 1M
alloc 0 dram 2 0x100000 1M
pop
push "b.two"
alloc 0 l1 3 0x1000 64K
pop
'''
LEAKED = 2 * MIB + 64 * KIB


def left(place, script):
    """A process runs the script and ends; ttmemd knows it."""
    load = place.run(script + 'sync\n')
    load.end()
    place.sees('retired', lambda s: serve.expect(
        'state', s.process(load.pid)['state'], 'exited'))
    return load.pid


def gate(place, *options, status=0, **how):
    """Returns what is printed; the summary is its last line."""
    text = run(place, 'check', *options, status=status, **how).stdout
    last = text.splitlines()[-1]
    if not last.startswith('SUMMARY: ttmem: '):
        serve.fail(f'the last line is {last!r}')
    if status not in (0, 5):
        has_not(text, 'no leaks')
    return text


def summary(text):
    return text.splitlines()[-1]


def verdict(place, *options, status=0):
    """check --format json, which holds what its schema promises."""
    done = run(place, 'check', '--format', 'json', *options, status=status)
    found = json.loads(done.stdout)
    if jsonschema:
        with open(f'{ROOT}/docs/check.schema.json', encoding='ascii') as file:
            jsonschema.validate(found, json.load(file))
    serve.expect('status', found['status'], status)
    has(done.stderr, found['summary'])
    return found


def check_clean(place):
    place.serve()
    left(place, 'open 0 chip=1\nalloc 0 dram 1 0 1M\nfree 0 dram 1\n')
    serve.expect('summary', gate(place),
                 'SUMMARY: ttmem: no leaks (1 process, 1 device)\n')
    serve.expect('leaks', verdict(place)['leaked_bytes'], 0)


def check_records(place):
    """Grouped by class, kind, scope and size, the largest first."""
    place.serve()
    pid = left(place, LEAK)
    lines = gate(place, '--bytes', status=23).splitlines()
    serve.expect('lines', len(lines), 3)
    has(lines[0], 'leak: 2097152 bytes in 2 objects of 1048576 bytes: '
        'orphaned dram, scope "a.one", device 0, process '
        f'ttmem-load[{pid}], age ')
    has(lines[1], 'leak: 65536 bytes in 1 object of 65536 bytes: orphaned l1, '
        'scope "b.two"')
    serve.expect('summary', lines[2], f'SUMMARY: ttmem: {LEAKED} bytes leaked '
                 'in 3 objects (1 process, 1 device)')
    left(place, LEAK.replace('open 0 chip=1', 'open 0 chip=2'))
    has(gate(place, status=23), f'{2 * LEAKED} bytes leaked in 6 objects '
        '(2 processes, 2 devices)', '4.00 MiB in 4 objects')
    found = verdict(place, status=23)
    serve.expect('records', [(r['class'], r['kind'], r['scope'], r['size'],
                              r['objects'], r['devices'], r['processes'])
                             for r in found['leaks']],
                 [('orphaned', 'dram', 'a.one', MIB, 4, 2, 2),
                  ('orphaned', 'l1', 'b.two', 64 * KIB, 2, 2, 2)])
    # Filters choose what is checked.
    has(gate(place, '--pid', pid, status=23), f'{LEAKED} bytes')
    has(gate(place, '--scope', 'b.*', status=23), '131072 bytes leaked')
    has(gate(place, '--device', 'asic:1', status=23), '1 device)')
    gate(place, '--scope', 'c.*')


def check_classes(place):
    place.serve()
    load = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nopen 1 chip=2\n'
                     'alloc 1 dram 2 0 2M\nclose 1\n'
                     'push "cache" persistent\nalloc 0 dram 3 0 4M\nsync\n')
    dumps.settle(place, load)
    has(gate(place, status=23), f'{3 * MIB} bytes leaked in 2 objects',
        'live dram', 'orphaned dram', 'not counted: 4.00 MiB')
    has(gate(place, '--errors-for', 'live', status=23), f'{MIB} bytes leaked')
    has(gate(place, '--errors-for', 'orphaned', status=23),
        f'{2 * MIB} bytes leaked')
    has(gate(place, '--errors-for', 'persistent', status=23),
        f'{4 * MIB} bytes leaked')
    has(gate(place, '--errors-for', 'persistent,live,orphaned', status=23),
        f'{7 * MIB} bytes leaked')


def check_kinds(place):
    place.serve()
    left(place, 'open 0 chip=1\ncb 0 9 1 0x20000 16K 4\n'
         'kernel 0 9 application 1000 2\n')
    has(gate(place), 'not counted: 64.0 KiB', 'no leaks')
    has(gate(place, '--all-kinds', status=23), '67536 bytes leaked in 2')
    has(gate(place, '--all-kinds', '--ignore-kind', 'cb', status=23),
        '2000 bytes leaked in 1 object')
    gate(place, '--all-kinds', '--ignore-kind', 'cb,kernel')
    left(place, LEAK)
    has(gate(place, '--ignore-kind', 'l1', status=23),
        f'{2 * MIB} bytes leaked')


def check_suppressions(place):
    place.serve()
    pid = left(place, LEAK + 'push "odd *$ \\x1b[31m\\\\"\nalloc 0 dram 7 0 '
               '3M\npop\nalloc 0 dram 8 0 5M\n')
    made = place.file('supp', gate(place, '--gen-suppressions', status=23))
    text = gate(place, '--suppressions', made, '--strict-suppressions')
    has(text, 'no leaks', 'objects suppressed',
        'suppressed: 2 objects, 2097152 bytes: leak:^a.one$')
    has_not(text, 'unused', '\x1b')
    more = place.file('supp', '# mine\n\nleak:nobody\nkind:trace,l1\n'
                      'process:^ttmem-l*d$\n')
    text = gate(place, '--suppressions', more)
    has(text, f'unused suppression: {more}:3: leak:nobody',
        'suppressed: 1 object, 65536 bytes: kind:trace,l1')
    has(gate(place, '--suppressions', more, '--strict-suppressions',
             status=5), '1 unused suppression')
    found = verdict(place, '--suppressions', more)
    serve.expect('uses', [s['objects'] for s in found['suppressions']],
                 [0, 1, 4])
    for pattern, status in (('one', 0), ('^one', 23), ('a*e', 0), ('a.$', 23),
                            ('^a.one$', 0), ('^a?one$', 23), ('*', 0)):
        gate(place, '--scope', 'a.*', '--suppressions',
             place.file('supp', f'leak:{pattern}\n'), status=status)
    for wrong in ('nonsense', 'kind:sram', 'leak:', 'race:x'):
        path = place.file('supp', f'{wrong}\n')
        done = run(place, 'check', '--suppressions', path, status=1)
        has(done.stderr, f'{path}:1: not a suppression')
    run(place, 'check', '--suppressions', '/none', status=1)
    serve.expect('pid', pid > 0, True)


def check_baseline(place):
    place.serve()
    left(place, LEAK)
    path = f'{place.files}/baseline'
    run(place, 'check', '--baseline', path, status=1)
    has(gate(place, '--baseline', path, '--update-baseline'), 'no leaks',
        f'{LEAKED} bytes in 3 objects in the baseline')
    has(gate(place, '--baseline', path), 'no leaks')
    left(place, 'open 0 chip=1\npush "b.two"\nalloc 0 l1 1 0 64K\n')
    has(gate(place, '--baseline', path, status=5), 'limit exceeded: baseline: '
        '2 objects and not 1: orphaned l1 of 65536 bytes, scope "b.two"')
    left(place, 'open 0 chip=1\npush "new"\nalloc 0 l1 1 0 32K\n')
    has(gate(place, '--baseline', path, status=23),
        '32768 bytes leaked in 1 object', '; limit exceeded')
    run(place, 'check', '--baseline', place.file('x', 'nonsense\n'), status=1)


def check_limits(place):
    place.serve()
    left(place, LEAK + 'alloc 0 trace 9 0 8M\nfree 0 trace 9\n')
    quiet = ('--ignore-kind', 'dram,l1,trace')
    gate(place, *quiet, '--max', 'dram=2M', '--max', 'l1=64K')
    has(gate(place, *quiet, '--max', 'dram=2097151', status=5),
        'limit exceeded: --max dram=2097151: device 0 has 2.00 MiB')
    gate(place, *quiet, '--max-peak', 'trace=8M')
    has(gate(place, *quiet, '--max-peak', 'trace=7M', status=5),
        '--max-peak trace=7M: device 0 had 8.00 MiB')
    # Leaks are worse, and the summary names both.
    has(summary(gate(place, '--max', 'dram=1M', status=23)), 'bytes leaked',
        'limit exceeded')


def check_since(place):
    place.serve()
    left(place, 'open 0 chip=1\nalloc 0 dram 1 0 1M\nmark "go"\n'
         'alloc 0 dram 2 0 2M\nmark "end"\n')
    has(gate(place, '--since', 'go', status=23), f'{2 * MIB} bytes leaked')
    gate(place, '--since', 'end')
    has(gate(place, '--since', 'other', status=3), 'there is no mark "other"')


def check_ack(place):
    place.serve()
    left(place, LEAK)
    gate(place, '--ack', status=23)
    has(gate(place), 'no leaks', '3 objects acknowledged')
    left(place, 'open 0 chip=1\nalloc 0 dram 2 0 2M\n')
    has(gate(place, '--ack', status=23), f'{2 * MIB} bytes leaked in 1 object')
    has(gate(place), '4 objects acknowledged')
    names = os.listdir(f'{place.base}/ttmem-{os.getuid()}')
    serve.expect('files', [n for n in names if 'acknowledged' in n],
                 ['acknowledged'])
    # What runs cannot be acknowledged.
    load = place.run(LEAK + 'sync\n')
    serve.wait_for('seen', lambda: gate(place, '--ack', status=23))
    gate(place, status=23)
    load.end()


def check_settle_and_wait(place):
    place.serve()
    load = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n'
                     'free 0 dram 1\nsync\n')
    dumps.settle(place, load)
    gate(place, '--settle', '0.2', status=23)
    waiting = place.popen([dumps.PROGRAM, 'check', '--settle', '20'],
                          stdout=subprocess.PIPE, text=True)
    load.go()
    has(waiting.communicate(timeout=20)[0], 'no leaks')
    serve.expect('status', waiting.returncode, 0)
    waiting = place.popen([dumps.PROGRAM, 'check', '--wait-pid',
                           str(load.pid)], stdout=subprocess.PIPE, text=True)
    load.end()
    has(waiting.communicate(timeout=20)[0], 'no leaks (1 process')


def check_no_data(place):
    """Never "no leaks": gate() looks for that."""
    has(gate(place, status=3), 'no current data')
    serve.expect('unknown', verdict(place, status=3)['leaked_bytes'], None)
    server = place.serve()
    left(place, LEAK)
    os.kill(server.pid, signal.SIGSTOP)
    serve.wait_for('stale', lambda: has(gate(place, status=3)
                                        if run_status(place) == 3 else '',
                                        'does not move'))
    os.kill(server.pid, signal.SIGCONT)
    server.stop(signal.SIGKILL)
    text = gate(place, status=3)
    has(summary(text), 'ttmemd is gone: these figures are ', ' old',
        f'{LEAKED} bytes leaked in 3 objects')
    os.mkdir(f'{place.base}/none')
    gate(place, '--dir', f'{place.base}/none', status=3)


def run_status(place):
    return subprocess.run([dumps.PROGRAM, 'check'], check=False,
                          env=place.environment(),
                          capture_output=True).returncode


def check_incomplete(place):
    place.serve()
    left(place, 'open 0 chip=1\nalloc 0 dram 1 0 1M\nfree 0 dram 1\n')
    gate(place)
    folder = f'{place.base}/ttmem-{os.getuid()}'
    with open(f'{folder}/lost', 'wb') as file:
        for word in (1, 5, 4096, 0):
            file.write(word.to_bytes(8, 'little'))
    os.chmod(f'{folder}/lost', 0o600)
    serve.wait_for('incomplete', lambda: serve.expect(
        'status', run_status(place), 4))
    has(gate(place, status=4), 'incomplete: ', 'at least 5 objects')
    # A baseline is not made of half of it.
    path = f'{place.files}/baseline'
    gate(place, '--baseline', path, '--update-baseline', status=4)
    serve.expect('written', os.path.exists(path), False)
    left(place, LEAK)
    has(summary(gate(place, status=23)), 'bytes leaked', 'data incomplete')


def check_untracked(place):
    place.serve()
    left(place, 'open 0 chip=1\nalloc 0 dram 1 0 1M\nfree 0 dram 1\n')
    with open(f'{place.base}/ttmem-{os.getuid()}/u.{os.getpid()}.0.28.', 'w',
              encoding='ascii'):
        pass
    serve.wait_for('incomplete', lambda: serve.expect(
        'status', run_status(place), 4))
    has(gate(place, status=4), 'could not be tracked')


def check_formats(place):
    place.serve()
    left(place, LEAK + 'push "<&\\"> \\x01 50% ::error::"\nalloc 0 dram 7 0 '
         '3M\n')
    path = f'{place.files}/junit.xml'
    text = gate(place, '--junit', path, '--github', '--max', 'dram=1',
                status=23)
    has(text, '::error title=ttmem leak::3.00 MiB in 1 object', '50%25',
        '::error title=ttmem limit::')
    has_not(text, '\x01', '\n::error::')
    suite = xml.etree.ElementTree.parse(path).getroot().find('testsuite')
    serve.expect('junit', (suite.get('failures'), suite.get('errors'),
                           len(suite.findall('testcase/failure'))),
                 ('4', '0', 4))
    has(suite.find('testcase/failure').get('message'), '<&">')
    if shutil.which('xmllint'):
        subprocess.run(['xmllint', '--noout', path], check=True)
    gate(place, '--junit', path, '--suppressions',
         place.file('supp', 'leak:*\n'))
    if shutil.which('xmllint'):
        subprocess.run(['xmllint', '--noout', path], check=True)
    out = f'{place.files}/out'
    done = run(place, 'check', '-o', out, status=23)
    serve.expect('stdout', done.stdout, '')
    with open(out, encoding='utf-8') as file:
        has(file.read(), 'SUMMARY: ttmem: ')
    done = run(place, 'check', '--format', 'json', '--github', status=23)
    serve.expect('schema', json.loads(done.stdout)['schema_version'], 1)
    has(done.stderr, '::error title=ttmem leak::')
    recorded = place.file('json', run(place, '--format', 'json').stdout)
    has(gate(place, '--from', recorded, status=23), 'bytes leaked in 4')


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_clean, check_records, check_classes, check_kinds,
        check_suppressions, check_baseline, check_limits, check_since,
        check_ack, check_settle_and_wait, check_no_data, check_incomplete,
        check_untracked, check_formats)))
