#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_gate.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

check, the leak gate: what counts, what is excused, and how it is written.
"""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree

import dumps
from dumps import has, has_not, run
from gates import CLEAN, KIB, LEAK, LEAKED, MIB, gate, left, summary, verdict
import serve


def check_clean(place):
    place.serve()
    left(place, CLEAN)
    serve.expect('summary', gate(place),
                 'SUMMARY: ttmem: no leaks (1 process, 1 device)\n')
    serve.expect('leaks', verdict(place)['leaked_bytes'], 0)


def check_records(place):
    """Grouped by class, kind, scope, size and devices, the largest first."""
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
        '(2 processes, 2 devices)', '2.00 MiB in 2 objects')
    found = verdict(place, status=23)
    serve.expect('records', sorted((
        r['class'], r['kind'], r['scope'], r['size'], r['objects'],
        r['place'], r['part_of'], r['devices'], r['processes'])
        for r in found['leaks']), [
            ('orphaned', kind, scope, size, objects, place, None, 1, 1)
            for kind, scope, size, objects in (
                ('dram', 'a.one', MIB, 2), ('l1', 'b.two', 64 * KIB, 1))
            for place in ('..1', '..2')])
    # Filters choose what is checked.
    has(gate(place, '--pid', pid, status=23), f'{LEAKED} bytes')
    has(gate(place, '--scope', 'b.*', status=23), '131072 bytes leaked')
    has(gate(place, '--device', 'asic:1', status=23), '1 device)')
    gate(place, '--scope', 'c.*')


def check_names_where_it_is(place):
    """Neither the first device nor the first process has it."""
    place.serve()
    left(place, CLEAN)
    pid = left(place, 'open 0 chip=1\nopen 3 chip=2 pci=0000:03:00.0\n'
               'push "x"\nalloc 3 dram 1 0 1M\n')
    has(gate(place, status=23), f'device 3, process ttmem-load[{pid}], age')
    found = verdict(place, status=23)['leaks'][0]
    serve.expect('where', (found['some_devices'], found['some_processes']),
                 (['3'], [{'pid': pid, 'comm': 'ttmem-load'}]))
    for device in ('3', '2-3', 'asic:2', 'asic:0x2', 'pci:03:00.0',
                   'pci:0000:03:00.0'):
        gate(place, '--device', device, status=23)
    for device in ('0', 'asic:1'):
        gate(place, '--device', device)
    second = left(place, 'open 4 chip=4\npush "x"\nalloc 4 dram 1 0 1M\n')
    serve.expect('where', sorted(
        (r['some_devices'], r['some_processes'][0]['pid'])
        for r in verdict(place, status=23)['leaks']),
                 [(['3'], pid), (['4'], second)])


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
    left(place, LEAK + 'push "odd *$ \\x1b[31m\\\\"\nalloc 0 dram 7 0 '
         '3M\npop\n')
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
                 [0, 1, 3])
    for pattern, status in (('one', 0), ('^one', 23), ('a*e', 0), ('a.$', 23),
                            ('^a.one$', 0), ('^a?one$', 23), ('*', 0)):
        gate(place, '--scope', 'a.*', '--suppressions',
             place.file('supp', f'leak:{pattern}\n'), status=status)
    for wrong, said in (
            ('nonsense', 'not a suppression (leak:'),
            ('leak:', 'not a suppression'), ('race:x', 'not a suppression'),
            ('kind:l1,dran', 'unknown kind: l1,dran (did you mean "dram"?)'),
            ('kind:host', 'unknown kind: host (valid: dram, l1, ')):
        path = place.file('supp', f'{wrong}\n')
        done = run(place, 'check', '--suppressions', path, status=1)
        has(done.stderr, f'{path}:1: {said}')


def check_leaks_without_a_scope_get_no_suppression(place):
    """It would suppress every one of them, also those that come later."""
    place.serve()
    left(place, LEAK + 'alloc 0 dram 8 0 5M\n')
    text = gate(place, '--gen-suppressions', status=23)
    serve.expect('suppressions', [line for line in text.splitlines()
                                  if line[0] != '#'][:-1],
                 ['leak:^a.one$', 'leak:^b.two$'])
    has(text, '# no suppression for leaks without a scope: ')
    text = gate(place, '--suppressions', place.file('supp', text), status=23)
    has(text, 'leak: 5.00 MiB in 1 object of 5.00 MiB: orphaned dram, scope '
        'none', f'{5 * MIB} bytes leaked in 1 object')


def check_suppressions_have_comments_in_lines_of_their_own(place):
    """A scope may have anything in it, so a pattern goes on to the end of its line."""
    place.serve()
    left(place, LEAK)
    path = place.file('supp', '# one\n  # two\nleak:a.one # three\nleak:a.one \n'
                      '  leak:a.one\n')
    text = gate(place, '--suppressions', path, status=23)
    has(text, f'unused suppression: {path}:3: leak:a.one # three',
        f'unused suppression: {path}:4: leak:a.one \n',
        'suppressed: 2 objects, 2097152 bytes: leak:a.one\n')


def check_suppressions_from_a_pipe(place):
    """It can be read but once, however often is looked."""
    place.serve()
    left(place, LEAK)
    read, write = os.pipe()
    os.write(write, b'leak:a.one\nleak:nobody \xff\n')
    os.close(write)
    done = subprocess.run(
        [dumps.PROGRAM, 'check', '--suppressions', f'/dev/fd/{read}',
         '--settle', '0.3', '--format', 'json'], pass_fds=(read,),
        env=place.environment(), capture_output=True, check=False)
    os.close(read)
    serve.expect('status', done.returncode, 23)
    text = done.stdout.decode('utf-8')  # what is not is replaced
    dumps.json_is_good(text)
    serve.expect('uses', [s['objects'] for s in json.loads(text)[
        'suppressions']], [2, 0])


def check_hostile_scopes_come_back(place):
    """In suppressions and in a baseline, to the byte."""
    place.serve()
    scopes = ('*', '^', '$', '\\\\', 'a\\\\x41', '[a-z]?', '#', ' a ', 'a: b',
              '\\x01\\x1b[31m', '\\xc3\\xa4', '\\xff\\xfe', '\\x0a\\x0d', '%0A',
              'leak:x', '-', 'x' * 112)
    script = 'open 0 chip=1\n'
    for number, scope in enumerate(scopes):
        script += f'push "{scope}"\nalloc 0 dram {number} 0 1K\npop\n'
    left(place, script)
    made = place.file('supp', gate(place, '--gen-suppressions', status=23))
    has(gate(place, '--suppressions', made, '--strict-suppressions'),
        f'{len(scopes)} objects suppressed')
    path = f'{place.files}/baseline'
    gate(place, '--baseline', path, '--update-baseline')
    has(gate(place, '--baseline', path),
        f'{len(scopes)} objects in the baseline')
    # Twice the same file is twice as many.
    with open(path, encoding='utf-8') as file:
        text = file.read()
    left(place, script)
    gate(place, '--baseline', path, status=5)
    gate(place, '--baseline', place.file('twice', text + text))


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
    # Version 1 did not say on how many devices.
    old = place.file('old', '# ttmem baseline 1\n'
                     'orphaned dram 1048576 2 a.one\n'
                     'orphaned l1 65536 2 b.two\norphaned l1 32768 1 new\n')
    has(gate(place, '--baseline', old), 'no leaks')
    for wrong in ('nonsense\n', '', '# ttmem baseline 1\nx dram 1 1 a\n',
                  '# ttmem baseline 1\norphaned dram 1\n',
                  '# ttmem baseline 2\norphaned dram 1 1 a\n',
                  '# ttmem baseline 3\n', '\0' * 5000):
        done = run(place, 'check', '--baseline', place.file('x', wrong),
                   status=1)
        has(done.stderr, 'not a baseline')


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
    # Of each device by itself, and of kinds together.
    left(place, 'open 5 chip=5\nalloc 5 dram 1 0 2M\n')
    gate(place, *quiet, '--max', 'dram=2M')
    has(gate(place, *quiet, '--max', 'dram,l1=2M', status=5), 'device 0 has',
        'SUMMARY')
    has(gate(place, *quiet, '--max', 'dram=1', status=5), 'device 0 has',
        'device 5 has', 'and 1 more')
    for size in ('2M', '2048K', '2097152', '0x200000', '1G', '1T'):
        gate(place, *quiet, '--max', f'dram={size}')
    gate(place, *quiet, '--device', '5', '--max', 'l1=0')
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
    # Of a long text 96 bytes are kept; and the mark of another is not meant.
    long = 'tests/' + 'x' * 200
    load = place.run(f'open 0 chip=1\nalloc 0 dram 1 0 1M\nmark "{long}"\n'
                     'alloc 0 dram 2 0 4M\nsync\n')
    other = place.run(f'open 0 chip=1\nmark "{long}"\nsync\n')
    serve.wait_for('marks', lambda: serve.expect('marks', sum(
        m['text'].startswith('tests/') for m in place.snapshot()['marks']), 2))
    has(gate(place, '--since', long, '--pid', load.pid, status=23),
        f'{4 * MIB} bytes leaked')
    gate(place, '--since', long, '--pid', other.pid)
    gate(place, '--since', 'go', '--pid', other.pid, status=3)


def check_ack(place):
    server = place.serve()
    left(place, LEAK)
    gate(place, '--ack', status=23)
    has(gate(place), 'no leaks', '3 objects acknowledged')
    left(place, 'open 0 chip=1\nalloc 0 dram 2 0 2M\n')
    has(gate(place, '--ack', status=23), f'{2 * MIB} bytes leaked in 1 object')
    has(gate(place), '4 objects acknowledged')
    names = os.listdir(f'{place.base}/ttmem-{os.getuid()}')
    serve.expect('files', [n for n in names if 'acknowledged' in n],
                 ['acknowledged'])
    # What is suppressed is not acknowledged: the line is still needed.
    supp = place.file('supp', 'leak:quiet\n')
    left(place, 'open 0 chip=1\npush "quiet"\nalloc 0 dram 2 0 2M\n')
    for _ in range(2):
        has(gate(place, '--ack', '--suppressions', supp,
                 '--strict-suppressions'), '1 object suppressed')
    has(gate(place, '--ack', status=23), f'{2 * MIB} bytes leaked in 1 object')
    # What runs cannot be acknowledged.
    load = place.run(LEAK + 'sync\n')
    serve.wait_for('seen', lambda: gate(place, '--ack', status=23))
    gate(place, status=23)
    load.end()
    # It stays while nobody serves, whoever asks meanwhile.
    gate(place, '--ack', status=23)
    server.stop(signal.SIGKILL)
    gate(place, '--ack', status=3)
    place.serve()
    has(gate(place), 'no leaks', '8 objects acknowledged')


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
    # The output is a file of suppressions: they go elsewhere.
    done = run(place, 'check', '--github', '--gen-suppressions', status=23)
    has_not(done.stdout, '::error title')
    has(done.stderr, '::error')
    suite = xml.etree.ElementTree.parse(path).getroot().find('testsuite')
    serve.expect('junit', (suite.get('failures'), suite.get('errors'),
                           len(suite.findall('testcase/failure'))),
                 ('4', '0', 4))
    has(suite.find('testcase/failure').get('message'), '<&">')
    names = [c.get('name') for c in suite.findall('testcase')]
    serve.expect('each has a name of its own', len(set(names)), 4)
    has(names[0], 'leak: orphaned dram of 3145728 bytes, scope "<&')
    gate(place, '--junit', path, '--suppressions',
         place.file('supp', 'leak:*\n'))
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
    # A publication that failed is made up for by the one that is read.
    with open(recorded, encoding='utf-8') as file:
        snapshot = json.load(file)
    snapshot['health']['publish_errors'] = 3
    failed = place.file('json', json.dumps(snapshot))
    has(gate(place, '--from', failed, status=23), 'bytes leaked in 4')


def check_many(place):
    """What is shown is bounded; what is counted is not."""
    place.serve()
    script = 'open 0 chip=1\n'
    for number in range(1200):
        script += f'push "s {number}"\nalloc 0 dram {number} 0 1K\npop\n'
    left(place, script)
    path = f'{place.files}/junit.xml'
    lines = gate(place, '--junit', path, '--github', status=23).splitlines()
    serve.expect('leaks', sum(l.startswith('leak: ') for l in lines), 1001)
    serve.expect('annotations', sum(l.startswith('::error') for l in lines),
                 11)
    has(lines[-1], f'{1200 * KIB} bytes leaked in 1200 objects')
    suite = xml.etree.ElementTree.parse(path).getroot().find('testsuite')
    serve.expect('cases', (suite.get('failures'),
                           len(suite.findall('testcase'))), ('1001', 1001))
    serve.expect('json', len(verdict(place, status=23)['leaks']), 1200)


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_clean, check_records, check_names_where_it_is, check_classes,
        check_kinds, check_suppressions,
        check_leaks_without_a_scope_get_no_suppression, check_suppressions_from_a_pipe,
        check_suppressions_have_comments_in_lines_of_their_own,
        check_hostile_scopes_come_back, check_many, check_baseline, check_limits, check_since,
        check_ack, check_settle_and_wait, check_formats)))
