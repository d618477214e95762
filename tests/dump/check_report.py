#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_report.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

The report for people: what is on the devices, whose it is, what went wrong, and what
it is worth.
"""

import os
import re
import signal
import sys

import dumps
from dumps import has, has_not, row, run
import serve
from check_telemetry import Tree


def everything(place):
    place.serve()
    load = place.run(dumps.EVERYTHING)
    dumps.settle(place, load)
    return load


# -- figures ------------------------------------------------------------------


def check_breakdown_exact(place):
    load = everything(place)
    text = run(place, '--bytes').stdout
    device = dumps.document(place)['devices'][0]
    l1 = 100 * dumps.MIB
    rows = {
        'L1 buffers': ['307200', '1', '307200', str(l1), '0.3 %', '0'],
        'L1_SMALL': ['10240', '1', '10240', str(1600 * dumps.KIB), '0.6 %',
                     '0'],
        'CBs': ['163840', '1', '163840', '-', '-', '0'],
        'footprint, at least': ['163840', '-', '-', str(l1), '0.2 %', '-'],
        'Kernels': [str(200000 + 114688 + 94208), '4', '-', str(l1), '0.4 %',
                    '0'],
        'Application': ['200000', '1', '200000', str(l1), '0.2 %', '0'],
        'Fabric (ethernet cores)': ['114688', '1', '114688', '-', '-', '0'],
        'Dispatch ': ['94208', '2', '94208', str(l1), '0.1 %', '0'],
        'L1 total': [str(307200 + 10240 + 163840 + 200000 + 94208), '-',
                     str(device['l1_tensix_peak']), str(l1), '0.7 %', '-'],
        'DRAM buffers': [str(10 * dumps.MIB), '2', str(10 * dumps.MIB),
                         str(1 << 30), '1.0 %', '0'],
        'TRACE': [str(dumps.MIB), '1', str(dumps.MIB), str(64 * dumps.MIB),
                  '1.6 %', '0'],
        'DRAM total': [str(11 * dumps.MIB), '-', str(device['dram_peak']),
                       str(1 << 30), '1.1 %', '-'],
        'System memory': [str(4 * dumps.MIB), '1', str(4 * dumps.MIB), '-',
                          '-', '0'],
    }
    for name, wanted in rows.items():
        serve.expect(name, row(text, name)[1:], wanted)
    has(text, 'Device 0, blackhole, asic:abc, pci:0000:03:00.0, 1 process')
    # Two rounds later: it is told when it has lasted.
    serve.wait_for('headroom', lambda: has(
        run(place, '--bytes').stdout,
        f'Headroom of L1: {0x80000 - 0x24000}, ttmem-load[{load.pid}], '
        'program 0x4d\n'))
    human = run(place).stdout
    serve.expect('human', row(human, 'L1 buffers')[1:4],
                 ['300 KiB', '1', '300 KiB'])
    load.end()


def check_clash_is_told(place):
    place.serve()
    load = place.run('open 0 chip=1 l1_base=64K l1_top=1M\n'
                     'cb 0 9 1 0x80000 128K 1\nalloc 0 l1 1 0x90000 64K\n'
                     'sync\n')
    dumps.settle(place, load)

    def attempt():
        text = run(place, '--bytes').stdout
        has(text, 'Headroom of L1: -65536, ', f'[{load.pid}], program 0x9: '
            'CLASH with an L1 buffer if it runs')
    serve.wait_for('clash', attempt)
    load.end()


def check_unknown_is_a_dash(place):
    place.serve()
    load = place.run('alloc 0 dram 1 0x1000 1M\nsync\n')
    dumps.settle(place, load)
    text = run(place, '--bytes').stdout
    serve.expect('capacity', row(text, 'DRAM total')[-3:], ['-', '-', '-'])
    has(text, 'unidentified', 'Headroom of L1: -')
    load.end()


def check_process_columns(place):
    load = everything(place)
    text = run(place, '--bytes').stdout
    titles = row(text, 'PID')
    found = dict(zip(titles, row(text, str(load.pid))))
    serve.expect('process', {k: found[k] for k in (
        'STATE', 'DEVICES', 'DRAM', 'L1', 'CB', 'KERNEL_FABRIC', 'OBJECTS',
        'ANOMALIES', 'LOST')}, {
            'STATE': 'reporting', 'DEVICES': '0',
            'DRAM': str(10 * dumps.MIB), 'L1': '307200', 'CB': '163840',
            'KERNEL_FABRIC': '114688', 'OBJECTS': '11', 'ANOMALIES': '0',
            'LOST': '0'})
    load.end()


def check_what_went_wrong(place):
    place.serve()
    load = place.run('open 0 chip=1\nfailed 0 l1 1M 4096\nfree 0 dram 9\n'
                     'mark "epoch 3"\npush "op x"\nalloc 0 dram 1 0 1M\n'
                     'close 0\nsync\n')
    dumps.settle(place, load)
    text = run(place, '--bytes').stdout
    serve.expect('failure', row(text.split('Failed allocations, the')[1],
                                '', 2)[1:6],
                 ['1048576', '-', '-', '4096', 'l1'])
    has(text, 'epoch 3', 'free_unknown', 'Orphaned objects')
    serve.expect('orphan', row(text.split('Orphaned objects')[1], 'BYTES',
                               0)[0], 'BYTES')
    serve.expect('orphaned', row(text, 'DRAM buffers')[-1], '1048576')
    load.end()


def check_retired(place):
    place.serve()
    load = place.run('open 0 chip=1\npush "kv cache"\n'
                     'alloc 0 dram 1 0 3M\nsync\nkill kill\n')
    load.release()

    def attempt():
        text = run(place, '--bytes').stdout
        has(text, 'Retired processes: 1, 1 left something')
        found = row(text.split('Retired processes')[1], str(load.pid))
        serve.expect('state', found[2], 'died')
        serve.expect('left', found[5:7], ['1', str(3 * dumps.MIB)])
        has(text.split('Orphaned objects')[1], 'kv cache')
    serve.wait_for('retired', attempt)


# -- selections ---------------------------------------------------------------


def check_filters(place):
    place.serve()
    one = place.run('open 0 chip=1\nopen 1 chip=2 pci=0000:05:00.0\n'
                    'push "op a"\nalloc 0 dram 1 0 1M\nalloc 1 l1 2 0 2M\n'
                    'sync\n')
    two = place.run('open 0 chip=3\npush "op b"\nalloc 0 dram 1 0 5M\nsync\n')
    dumps.settle(place, one, two)

    def objects(*options):
        text = run(place, '--bytes', *options).stdout
        found = re.search(r'Live objects: (\d+), (\d+)', text)
        return (int(found[1]), int(found[2]) // dumps.MIB) if found else (0, 0)
    wanted = {
        (): (3, 8),
        ('--device', '0'): (2, 6),
        ('--device', '1'): (1, 2),
        ('--device', '1-7'): (1, 2),
        ('--device', '0-1'): (3, 8),
        ('--device', 'asic:3'): (1, 5),
        ('--device', 'asic:0x3,1'): (2, 7),
        ('--device', 'pci:05:00.0'): (1, 2),
        ('--device', 'pci:0000:05:00.0'): (1, 2),
        ('--device', '9'): (0, 0),
        ('--pid', one.pid): (2, 3),
        ('--pid', f'{one.pid},{two.pid}'): (3, 8),
        ('--pid', 1): (0, 0),
        ('--kind', 'dram'): (2, 6),
        ('--kind', 'l1,dram'): (3, 8),
        ('--kind', 'kernel'): (0, 0),
        ('--scope', 'op a'): (2, 3),
        ('--scope', 'op *'): (3, 8),
        ('--scope', '* b', '--scope', 'nope'): (1, 5),
        ('--scope', '*c*'): (0, 0),
        ('--kind', 'dram', '--pid', one.pid): (1, 1),
    }
    for options, found in wanted.items():
        serve.expect(str(options), objects(*options), found)
    # Two chips go by one number: they are told apart.
    has(run(place).stdout, 'Device ..1,', 'Device ..3,', 'Device 1,')
    has_not(run(place, '--pid', two.pid).stdout, 'asic:1', f' {one.pid} ')
    one.end()
    two.end()


VISIBLE = 'open 0 board=p150 index={index}\nalloc 0 dram 1 0 {size}M\nsync\n'


def names(place, *options):
    """Of the devices, as a report has them."""
    return re.findall(r'^Device ([^,]+),', run(place, *options).stdout,
                      re.MULTILINE)


def selected(place, selector):
    """MiB on the devices that the selector finds."""
    document = dumps.document(place, '--device', selector)
    return sorted(d['figures']['dram']['live_bytes'] // dumps.MIB
                  for d in document['devices'])


def check_names_of_devices(place):
    """Each process calls its device 0: the driver's numbers name them."""
    tree = Tree(place)
    tree.make('p150', '--devices', '3')
    place.serve(*tree.options)
    loads = [place.run(VISIBLE.format(index=index, size=index + 1))
             for index in (2, 0, 5)]  # the driver does not show the last one
    loads.append(place.run('open 0\nalloc 0 dram 1 0 9M\nsync\n'))
    dumps.settle(place, *loads)
    place.sees('what the driver says', lambda s: serve.expect(
        'of each', sorted(t['number'] for t in s['telemetry']), [0, 1, 2]))
    # A device that is still known by less has a row of its own for a moment.
    place.sees('all devices', lambda s: serve.expect(
        'devices', len(s['devices']), 5))
    found = names(place)
    serve.expect('names', (found[:3], found[4:]),
                 (['0', '1', '2'], ['logical:0']))
    serve.expect('by its last digit', found[3][:2], '..')
    for name, sizes in (('0', [1]), ('1', [0]), ('2', [3]), ('0-1', [0, 1]),
                        (found[3], [6]), ('logical:0', [1, 3, 6, 9]),
                        (f'asic:{found[3]}', [6])):
        serve.expect(f'--device {name}', selected(place, name), sizes)
    for name in ('3', '..', 'logical:', 'logical:x', '..x', f'..{17 * "1"}'):
        dumps.run(place, '--device', name, status=0 if name == '3' else 2)
    for absent in ('..ffff', 'logical:7'):
        has(run(place, 'check', '--device', absent, status=3).stdout,
            f'no data: there is no device {absent}')


def check_one_device_with_two_logical_ids(place):
    """As two processes call it: either of them finds it."""
    place.serve()
    loads = [place.run(f'open {logical} chip=7\n'
                       f'alloc {logical} dram 1 0 {logical}M\nsync\n')
             for logical in (2, 5)]
    dumps.settle(place, *loads)
    for selector, sizes in (('logical:2', [7]), ('logical:5', [7]),
                            ('logical:3', [])):
        serve.expect(f'--device {selector}', selected(place, selector), sizes)


def check_names_without_the_driver(place):
    """The logical id if it is unique, else the shortest end of the unique id."""
    place.serve()
    loads = [place.run(f'open 0 chip={chip}\nalloc 0 dram 1 0 {size}M\nsync\n')
             for size, chip in ((1, '0x7700000400000012'),
                                (2, '0x7700000400000022'),
                                (3, '0x7700000400000031'))]
    loads.append(place.run('open 0 pci=0000:05:00.0\nopen 4 chip=4\n'
                           'alloc 0 dram 1 0 4M\nalloc 4 dram 2 0 5M\nsync\n'))
    dumps.settle(place, *loads)
    found = names(place)
    serve.expect('names', sorted(found), ['..1', '..12', '..22', '05:00.0', '4'])
    serve.expect('order', found[0], '4')
    for size, name in enumerate(('..12', '..22', '..1', '05:00.0', '4'), 1):
        serve.expect(f'--device {name}', selected(place, name), [size])
    serve.expect('logical:0', selected(place, 'logical:0'), [1, 2, 3, 4])
    # Processes that are gone make no difference.
    for load in loads:
        load.end()
    serve.expect('afterwards', names(place), found)


def check_groups_and_top(place):
    place.serve()
    load = place.run('open 0 chip=1\npush "a"\nalloc 0 dram 1 0 1M\n'
                     'alloc 0 dram 2 0 1M\nalloc 0 l1 3 0 64K\npop\n'
                     'push "b"\nalloc 0 dram 4 0 5M\nsync\n')
    dumps.settle(place, load)
    text = run(place, '--group-by', 'kind,scope', '--bytes').stdout
    part = text.split('Live objects')[1]
    serve.expect('groups', [row(part, n) for n in (
        str(5 * dumps.MIB), str(2 * dumps.MIB), '65536')], [
            [str(5 * dumps.MIB), '1', '1', '1', row(part, str(
                5 * dumps.MIB))[4], 'dram', 'b'],
            [str(2 * dumps.MIB), '2', '1', '1', row(part, str(
                2 * dumps.MIB))[4], 'dram', 'a'],
            ['65536', '1', '1', '1', row(part, '65536')[4], 'l1', 'a']])
    text = run(place, '--top', '1').stdout
    has(text, 'the 1 largest of 4', '5.00 MiB')
    has_not(text, '64.0 KiB  l1')
    has(run(place, '--top', 'all').stdout, '64.0 KiB  l1')
    has_not(run(place, '--top', '0').stdout, 'Live objects')
    by_process = run(place, '--group-by', 'process,device').stdout
    has(by_process, f'ttmem-load[{load.pid}]', 'Live objects: 4')
    load.end()


# -- what it is worth -----------------------------------------------------------


def check_no_ttmemd(place):
    done = run(place, status=3)
    serve.expect('stdout', done.stdout, '')
    has(done.stderr, 'no data', 'never started', 'start ttmemd')
    os.mkdir(f'{place.base}/none')
    done = run(place, '--dir', f'{place.base}/none/at/all', status=3)
    has(done.stderr, 'no data')


def check_killed_ttmemd(place):
    server = place.serve()
    load = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n')
    dumps.settle(place, load)
    server.stop(signal.SIGKILL)
    done = run(place, status=3)
    first = done.stdout.splitlines()[0]
    if not re.match(r'WARNING \(dead\): ttmemd is gone: these figures are '
                    r'[\d.]+ \w+ old$', first):
        serve.fail(first)
    has(done.stdout, 'start ttmemd', 'DRAM buffers', '1.00 MiB')
    for form in ('json', 'csv'):
        done = run(place, '--format', form, status=3)
        has(done.stderr, 'ttmemd is gone', 'old')
    load.end()


def check_stopped_ttmemd(place):
    server = place.serve()
    os.kill(server.pid, signal.SIGSTOP)

    def attempt():
        text = run(place, status=3).stdout
        has(text.splitlines()[0], 'WARNING (stale)', 'does not move', 'old')
    serve.wait_for('stale', attempt)
    os.kill(server.pid, signal.SIGCONT)
    serve.wait_for('fresh', lambda: _fresh(place))


def _fresh(place):
    try:
        run(place)
    except serve.Failed as failed:
        serve.fail(str(failed)[:200])


def check_incomplete(place):
    place.serve()
    load = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n')
    dumps.settle(place, load)
    run(place)
    folder = f'{place.base}/ttmem-{os.getuid()}'
    with open(f'{folder}/u.{os.getpid()}.1.28.', 'w', encoding='ascii'):
        pass

    def attempt():
        done = run(place, status=4)
        has(done.stdout, 'WARNING (incomplete): 1 reason, see Losses',
            'could not be tracked: No space left on device')
    serve.wait_for('untracked', attempt)
    os.unlink(f'{folder}/u.{os.getpid()}.1.28.')
    serve.wait_for('all well', lambda: _fresh(place))
    # Of this version, and then nonsense.
    name = next(n for n in os.listdir(folder) if n.startswith('p.'))
    with open(f'{folder}/{name}', 'rb') as file:
        data = bytearray(file.read())
    data[0x800:0x900] = b'\xff' * 0x100
    with open(f'{folder}/p.99999.1.0123456789abcdef', 'wb') as file:
        file.write(data)
    os.chmod(f'{folder}/p.99999.1.0123456789abcdef', 0o600)
    serve.wait_for('quarantined', lambda: has(
        run(place, status=4).stdout, 'WARNING (incomplete)', 'quarantined'))
    load.end()


def check_not_serving(place):
    place.serve()
    with dumps.held_directory(place):
        def attempt():
            done = run(place, status=4)
            has(done.stdout, 'does not serve a directory of yours')
        serve.wait_for('not serving', attempt)


def check_system(place):
    """What root's ttmemd knows, and not the user's own."""
    place.serve()
    has(run(place, '--system', status=3).stderr, 'no data: ')
    if os.getuid() != 0:
        return
    systems = serve.Server(place, ('--mode', 'system'))
    # Our directory is held by the other.
    serve.wait_for('both', lambda: has(run(place, '--system', status=4).stdout,
                                       f'pid {systems.pid}, ',
                                       'served by another ttmemd'))
    has(run(place).stdout, 'serves one user')


def check_hostile_names(place):
    place.serve()
    name = r'\x1b]0;owned\x07\x1b[2J\"\\ \xe2\x80\xae=1+1'
    link = f'{place.files}/\x1b[31m,"x'
    os.symlink(place.programs.load, link)
    place.programs.load = link
    load = place.run(f'open 0 chip=1\npush "{name}"\nmark "{name}"\n'
                     'alloc 0 dram 1 0 1M\nfailed 0 dram 5 5\nsync\n')
    dumps.settle(place, load)
    for options in ((), ('--format', 'csv'), ('--format', 'json'),
                    ('--group-by', 'scope')):
        text = run(place, *options).stdout
        odd = [c for c in text if c != '\n' and (ord(c) < 32 or ord(c) == 127
                                                 or c == '\u202e')]
        if options != ('--format', 'json'):
            serve.expect(f'{options}', odd, [])
            has(text, r'\x1b]0;owned\x07\x1b[2J', r'\xe2\x80\xae=1+1')
        else:
            serve.expect('json', [c for c in odd if c != '\u202e'], [])
            has(text, r'\u001b]0;owned\u0007\u001b[2J\"\\')
    load.end()


def check_watch(place):
    place.serve()
    text = run(place, '--watch', '0.05', '--count', '3').stdout
    serve.expect('reports', text.count('ttmem at '), 3)
    process = place.popen([dumps.PROGRAM, '--watch', '0.05', '--format',
                           'json'], stdout=-1, text=True)
    for _ in range(3):
        if not process.stdout.readline().startswith('{'):
            serve.fail('no document')
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    serve.expect('status', process.wait(serve.PATIENCE_S), 0)


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_breakdown_exact, check_clash_is_told, check_unknown_is_a_dash,
        check_process_columns, check_what_went_wrong, check_retired,
        check_filters, check_names_of_devices,
        check_one_device_with_two_logical_ids,
        check_names_without_the_driver, check_groups_and_top, check_no_ttmemd,
        check_killed_ttmemd, check_stopped_ttmemd, check_incomplete,
        check_not_serving, check_system, check_hostile_names, check_watch)))
