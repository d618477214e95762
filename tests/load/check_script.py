#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_script.py TTMEM-LOAD SEGDUMP

A script does what it says, the model agrees with the library event for event, and
mistakes are told with file and line.
"""

import json
import os
import random
import sys

import loads

# Everything that can be said, anomalies included.
EVERYTHING = '''
# devices: known, half known, changed, closed, never opened
open 0 board=p150 index=3
open 1 chip=0x1234 arch=wormhole_b0 dram=12G l1=1499136 cores=72
open 2 pci=0001:02:03.4 l1_small=24K trace=64M l1_base=0x19000 l1_top=1M
mesh all 0,1,2
mesh two 1,2,1
alloc 0 dram 7 0x1000 4096
alloc 0 dram 7 0x1000 8192          # live already
alloc all l1 8 0x2000 2K 4K
alloc 9 trace 1 0 100
free 0 dram 7
free 0 dram 7                       # not any more
free 77 dram 1                      # nor there
alloc 0 9 1 0 1                     # no such kind
free 0 9 1
alloc 0 dram 2 0 64T                # too large
alloc 0x80001234 dram 3 0 1         # no such mesh
cb 0 5 0 0x19000 2048 64
cb 0 5 0 0x19000 4096 64            # planned anew
cb 0 5 1 0x20000 4096 64 borrowed
cb two 6 0 0x19000 1K 72
cb 0 6 1 0 1T 0xffffff              # too large
cb_free 0 5 1
cb_free 0 5 1
kernel 0 5 application 65536 120 ring
kernel 0 5 application 65536 120 ring
kernel 0 5 application 65536 120    # another one: not in the ring
kernel all 100 fabric 57344 16
kernel all 100 dispatch 47104 2     # another type, the same id
kernel 0 101 7 1 1                  # no such type
unload 0 101
destroy 0 5
destroy 0 5
cb_free_all two
push "a scope with \\"blanks\\" \\x1b[31m"
push persistent persistent
alloc 1 dram 50 0 5000
pop
pop
pop                                 # one too many
mark "half time"
failed 0 l1 1M 4096
failed two trace 5
failed 0 66 5                       # no such kind
peak_reset all
alloc 1 dram 51 0 5
alloc 1 dram 52 0 6
close 1
free 1 dram 51                      # late
alloc 1 dram 52 0 7                 # another one: the old is an orphan
open 1 chip=0x1234
alloc 1 dram 53 0 8
open 1 chip=0x9999                  # became another chip
alloc two dram 54 0 9
open 1 chip=0x1234                  # and is back
close 55                            # never there
mesh_close two
mesh_close two
alloc two dram 60 0 1
close all
alloc 0 system_memory 1 0 100
'''

FORKS = '''
open 0 board=n150 index=0
mesh m 0
alloc m dram 1 0 100
push outer
fork
  free 0 dram 1         # nothing: a free alone makes no segment
  pop
  alloc m dram 2 0 1    # the mesh is its parent's
  pop
  alloc 0 l1 3 0 50
  fork
    alloc 0 l1 4 0 60
    kill
  end
  wait
  exit 7
end
fork
  alloc 0 trace 5 0 70
  kill term
end
wait
alloc 0 dram 6 0 200
'''


def check_everything(place):
    path = f'{place.base}/everything'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(EVERYTHING)
    truth = place.truth('--script', path)
    segments = place.segments()
    loads.same(truth, segments)
    # By hand, so that it is not two mistakes that agree.
    anomalies = dict.fromkeys(loads.ANOMALIES, 0)
    anomalies.update(alloc_live=1, free_unknown=4, bad_kind=4, overflow=2,
                     bad_device=4, scope_underflow=1, late_free=1,
                     device_changed=2)
    loads.expect('anomalies', truth['anomalies'], anomalies)
    loads.expect('dispatches', truth['dispatches'],
                 {'application': 1, 'fabric': 0, 'dispatch': 0})
    loads.expect('failures', {k: v for k, v in truth['failures'].items() if v},
                 {'l1': 1, 'trace': 2})
    segment, = segments.values()
    scopes = {o['scope'] for o in segment.objects}
    loads.expect('scopes', scopes, {'', 'persistent'})
    # The same line by line, from stdin.
    place.tidy()
    again = place.truth('--script', '-', stdin=EVERYTHING)
    loads.same(again, place.segments())
    loads.expect('from stdin', again['figures'], truth['figures'])
    place.tidy()


def check_forks(place):
    truth = place.truth('--script', '-', stdin=FORKS)
    loads.same(truth, place.segments())
    ends = [(p['exit_status'], p['signal']) for p in truth['processes']]
    loads.expect('ends', sorted(ends, key=str),
                 sorted([(0, None), (7, None), (None, 15), (None, 9)],
                        key=str))
    child = next(p for p in truth['processes'] if p['exit_status'] == 7)
    loads.expect('of the child', (child['anomalies']['bad_device'],
                                  child['anomalies']['scope_underflow'],
                                  child['anomalies']['free_unknown']),
                 (1, 1, 0))
    place.tidy()


def random_script(seed):
    """Events on few ids, so that they meet."""
    rng = random.Random(seed)
    kinds = ('dram', 'l1', 'system_memory', 'l1_small', 'trace')
    lines = ['open 0 chip=1', 'open 1 chip=2', 'mesh m 0,1', 'mesh n 2']
    for _ in range(int(1500 * loads.scale()) + 200):
        device = rng.choice(('0', '1', '2', 'm', 'n'))
        number = rng.randrange(4)
        # One size per id: which of two orphans a late free ends is not said.
        size = (number + 1) * 32
        program = rng.randrange(3)
        lines.append(rng.choice((
            f'alloc {device} {rng.choice(kinds)} {number} 0 {size}',
            f'free {device} {rng.choice(kinds)} {number}',
            f'cb {device} {program} {number} 0 {size} 8',
            f'cb {device} {program} {number} 0 {size} 8 borrowed'
            if program == 0 and number == 3 else
            f'cb_free {device} {program} {number}',
            f'kernel {device} {program} {("fabric", "application")[program % 2]}'
            f' 64 {program + 1}',
            f'unload {device} {program}',
            f'destroy {device} {program}',
            rng.choice((f'close {device}', f'cb_free_all {device}',
                        f'open 1 chip={rng.choice((2, 3))}',
                        f'failed {device} l1 5', f'mark "{number}"',
                        'push s', 'pop')),
        )))
    return '\n'.join(lines) + '\n'


def check_random(place):
    for seed in range(max(3, int(20 * loads.scale()))):
        script = random_script(seed)
        truth = place.truth('--script', '-', stdin=script)
        if sum(truth['anomalies'].values()) < 10:
            loads.fail(f'seed {seed}: nothing met')
        loads.same(truth, place.segments())
        place.tidy()


def check_sync(place):
    """A test steps through a script, and may look in between."""
    path = f'{place.base}/steps'
    with open(path, 'w', encoding='utf-8') as file:
        file.write('alloc 0 dram 1 0 10\nsync one\nfree 0 dram 1\n'
                   'alloc 0 l1 2 0 20\nsync\n')
    process = place.start('--script', path, '--json', '-')
    for said, figure in (('sync one\n', 'dram'), ('sync\n', 'l1')):
        truth = json.loads(process.stdout.readline())
        loads.expect('said', process.stdout.readline(), said)
        loads.expect('phase', truth['phase'], 'sync')
        loads.same(truth, place.segments())
        loads.expect('live', truth['figures'][figure]['live_objects'], 1)
        process.stdin.write('go on\n')
        process.stdin.flush()
    loads.expect('phase', json.loads(process.stdout.read())['phase'], 'end')
    loads.expect('status', process.wait(), 0)
    process.stdin.close()
    process.stdout.close()
    place.tidy()


MISTAKES = (
    ('alloc 0 dram 1 0', 'alloc: too few words'),
    ('alloc 0 dram 1 0 1 2 3', 'alloc: too many words: 3'),
    ('alloc 0 dran 1 0 1', 'not a kind: dran'),
    ('alloc x dram 1 0 1', 'neither a device nor a mesh: x'),
    ('alloc 0 dram -1 0 1', 'not a number: -1'),
    ('alloc 0 dram 1 0 1Q', 'not a size: 1Q'),
    ('alloc 0 dram 0x1g 0 1', 'not a number: 0x1g'),
    ('alloc 4294967296 dram 1 0 1', 'neither a device nor a mesh'),
    ('alloc 0 dram 18446744073709551616 0 1', 'not a number'),
    ('allocate 0', 'unknown event: allocate'),
    ('kernel 0 1 fabrik 1 1', 'not a kernel type: fabrik'),
    ('open 0 board=q7', 'unknown board: q7'),
    ('open 0 index=1', 'index needs board before it'),
    ('open 0 colour=red', 'open does not take that'),
    ('open 0 chip', 'not KEY=VALUE: chip'),
    ('open 0 pci=1:2', 'not a PCI address: 1:2'),
    ('open 0 arch=abcdefghijklmnopq', 'longer than 16 bytes'),
    ('push "open', 'a quote is not closed'),
    ('push "\\q"', 'in quotes'),
    ('push "\\x00"', 'in quotes'),
    ('mesh 7 0', "a mesh's name begins with a letter: 7"),
    ('mesh m 0,,1', 'not a device:'),
    ('kill 0', 'not kill, abort, segv or term: 0'),
    ('exit 256', 'not an exit status: 256'),
    ('end', 'an end without a fork'),
    ('fork', 'a fork without an end'),
    ('mark a \x1b[2J', 'mark: too many words: \\x1b[2J'),
    ('\x1b[2J', 'unknown event: \\x1b[2J'),
    ('push ' + 'x' * 5000, 'a line of 4096 bytes or more'),
)


def check_mistakes(place):
    path = f'{place.base}/wrong'
    for line, complaint in MISTAKES:
        text = f'alloc 0 dram 1 0 1\n\n{line}\n'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        done = place.run('--script', path, status=2)
        if f'ttmem-load: {path}:3: {complaint}' not in done.stderr or \
                done.stderr.count('\n') != 1:
            loads.fail(f'{line!r}: {done.stderr!r}')
        # Nothing happened before the mistake was seen.
        loads.expect('segments', place.segments(), {})
        done = place.run('--script', '-', '--quiet', status=2, stdin=text)
        if f'ttmem-load: stdin:3: {complaint}' not in done.stderr:
            loads.fail(f'{line!r} from stdin: {done.stderr!r}')
        place.tidy()
    place.run('--script', f'{place.base}/none', status=2)
    os.unlink(path)


def main():
    load, segdump = loads.arguments(__doc__)
    with loads.Place(load, segdump) as place:
        check_everything(place)
        check_forks(place)
        check_random(place)
        check_sync(place)
        check_mistakes(place)
    print('script: as written')
    return 0


if __name__ == '__main__':
    sys.exit(main())
