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
alloc all l1 8 0x2000 2K 4K        # 2 KiB asked for, 4 KiB used
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
cb 0 6 1 0 1T 0xfff                 # too large
cb 0 6 1 0 1 4096                   # too many cores
cb_free 0 5 1
cb_free 0 5 1
kernel 0 5 application 65536 120 ring
kernel 0 5 application 65536 120 ring
kernel 0 5 application 65536 120    # another one: not in the ring
kernel all 100 fabric 57344 16
kernel all 100 dispatch 47104 2     # another type, the same id
kernel 1 100 dispatch 47104 2       # on a device it is loaded once
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
failed two cb 1M per_bank=4K free=2K largest=1K program=5
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

# Objects on several devices, freed in parts, and devices closed one by one.
MESHES = '''
open 0 chip=10
open 1 chip=11
open 2 chip=12
open 3 chip=13
mesh all 0,1,2,3
mesh pair 1,2
cores grid 0,0-7,7
cores left 0,0-3,7 1,1-2,2          # ranges overlap
alloc all dram 1 0x1000 64K banks=12 per_bank=8K
free 1 dram 1
free pair dram 1                    # only device 2 had it, of these two
alloc all l1 2 0 4K banks=64 per_bank=1K cores=left persistent
alloc pair l1 3 0 100
alloc 2 l1 4 0 200 per_core
free all l1 3                       # through another mesh, larger
free all l1 4                       # the same: on most it was not
cb all 5 0 0 1K grid dataflow
cb pair 5 1 0 1K left scratchpad
destroy 1 5
kernel all 6 application 100 grid
kernel 2 6 application 100 grid     # live there
unload 3 6
close 0
alloc all dram 7 0 500
close pair                          # one close
push a
push b
push c
pop_to 1
alloc 3 dram 8 0 1
pop
'''
# (figure, id): entries, and those where it is orphaned.
MESHES_LEFT = {
    ('dram', '1'): ('0,3', '0'),
    ('dram', '7'): ('0,1,2,3', '1,2'),
    ('dram', '8'): ('3', '-'),
    ('l1', '2'): ('0,1,2,3', '0,1,2'),
    ('cb', '0'): ('0,2,3', '0,2'),
    ('cb', '1'): ('2', '2'),
    ('kernel_application', '6'): ('0,1,2', '0,1,2'),
}

FORKS = '''
open 0 board=n150 index=0
mesh m 0
alloc m dram 1 0 100
push outer
fork
  free 0 dram 1         # nothing: a free alone makes no segment
  pop
  alloc m dram 2 0 1    # the mesh of its parent stays valid
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
    anomalies.update(alloc_live=1, free_unknown=4, bad_kind=4, overflow=3,
                     bad_device=4, scope_underflow=1, late_free=1,
                     device_changed=2)
    loads.expect('anomalies', truth['anomalies'], anomalies)
    loads.expect('dispatches', truth['dispatches'],
                 {'application': 1, 'fabric': 0, 'dispatch': 1})
    loads.expect('failures', {k: v for k, v in truth['failures'].items() if v},
                 {'l1': 1, 'trace': 2, 'cb': 2})
    segment, = segments.values()
    scopes = {o['scope'] for o in segment.objects}
    loads.expect('scopes', scopes, {'', 'persistent'})
    # The same line by line, from stdin.
    place.tidy()
    again = place.truth('--script', '-', stdin=EVERYTHING)
    loads.same(again, place.segments())
    loads.expect('from stdin', again['figures'], truth['figures'])
    place.tidy()


def check_meshes(place):
    truth = place.truth('--script', '-', stdin=MESHES)
    segments = place.segments()
    loads.same(truth, segments)
    segment, = segments.values()
    loads.expect('left', {(o['figure'], o['id']): (o['entries'], o['orphans'])
                          for o in segment.objects}, MESHES_LEFT)
    loads.expect('objects', truth['objects'],
                 {'allocated': 9, 'freed': 2, 'shrunk': 5, 'live': 7})
    loads.expect('anomalies', {k: v for k, v in truth['anomalies'].items() if v},
                 {'free_unknown': 3})
    loads.expect('dispatches', truth['dispatches']['application'], 1)
    loads.expect('closes', segment.head['closes'], '2')
    loads.expect('scope', [o['scope'] for o in segment.objects
                           if o['id'] == '8'], ['a'])
    last = truth['processes'][0]['devices'][3]['figures']
    loads.expect('used and requested', (last['l1']['live_bytes'],
                                        last['l1']['live_requested']),
                 (64 * 1024, 4096))
    loads.expect('cores', sorted((int(o['cores']), o['core_set'] != '0')
                                 for o in segment.objects
                                 if o['figure'] != 'dram'),
                 [(32, True), (32, True), (64, True), (64, True)])
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
                 (0, 1, 0))
    place.tidy()


# Handles and their devices. Ids are unique across handles, as the header asks, but for
# kernels: n is a mesh of one device, and so the same as 2.
HANDLES = {'0': '0', '1': '1', '2': '2', 'm': '01', 'n': '2', 'all': '012'}


class Random:
    """Events on few ids, so that they meet. A close changes all ids: what happens to
    an object that is orphaned on some of its devices only is not said by the header
    in each case."""

    KINDS = ('dram', 'l1', 'system_memory', 'l1_small', 'trace')

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.base = 0
        self.lines = ['open 0 chip=1', 'open 1 chip=2', 'open 2 chip=3',
                      'mesh m 0,1', 'mesh n 2', 'mesh all 0,1,2',
                      'cores few 0,0-1,3']

    def number(self, handle, base=None):
        """An id that only this handle allocates."""
        base = self.base if base is None else base
        family = sorted(set(HANDLES.values())).index(HANDLES[handle])
        return base * 100 + family * 10 + self.rng.randrange(4)

    def overlapping(self, handle):
        return self.rng.choice([h for h, d in HANDLES.items()
                                if set(d) & set(HANDLES[handle])])

    def buffer(self, handle):
        number = self.number(handle)
        kind = self.KINDS[number % 5]
        # One size per id.
        size = (number % 10 + 1) * 32
        banks = f' banks=4 per_bank={size}' if number % 2 else ''
        if self.rng.random() < .5:
            return f'alloc {handle} {kind} {number} 0 {size}{banks}'
        return f'free {self.overlapping(handle)} {kind} {number}'

    def program(self, handle):
        number = self.number(handle)
        kernel = ('fabric', 'application')[number % 2]
        return self.rng.choice((
            f'cb {handle} {number} {number % 3} 0 64 8',
            f'cb {handle} {number} {number % 3} 0 96 few borrowed',
            f'cb_free {self.overlapping(handle)} {number} {number % 3}',
            f'kernel {self.overlapping(handle)} {number} {kernel} '
            f'{self.rng.choice((64, 64, 96))} few',
            f'unload {self.overlapping(handle)} {number}',
            f'destroy {self.overlapping(handle)} {number}'))

    def late(self):
        """What is left of a time before, on one device."""
        device = self.rng.choice('012')
        base = self.rng.randrange(max(0, self.base - 3), self.base + 1)
        number = self.number(device, base)
        return f'free {device} {self.KINDS[number % 5]} {number}'

    def other(self, handle):
        line = self.rng.choice((
            f'close {handle}', f'open 1 chip={self.rng.choice((2, 4))}',
            f'cb_free_all {self.rng.choice("012")}',
            f'failed {handle} l1 5', f'failed {handle} cb 7',
            f'mark "{handle}"', 'push s', 'pop', 'pop_to 1'))
        if line.startswith(('close', 'open')):
            self.base += 1
        return line

    def script(self):
        for _ in range(int(1500 * loads.scale()) + 200):
            handle = self.rng.choice(list(HANDLES))
            chance = self.rng.random()
            self.lines.append(
                self.buffer(handle) if chance < .5 else
                self.program(handle) if chance < .85 else
                self.late() if chance < .92 else self.other(handle))
        return '\n'.join(self.lines) + '\n'


def check_random(place):
    for seed in range(max(3, int(20 * loads.scale()))):
        script = Random(seed).script()
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
    ('alloc 0 dram 1 0 1 2 3', 'alloc: too many words: 3 (valid: persistent, '),
    ('alloc 0 dram 1 0 1 persistant',
     'alloc: too many words: persistant (did you mean "persistent"?)'),
    ('alloc 0 sram 1 0 1', 'unknown kind: sram (did you mean "dram"?)'),
    ('alloc 0 host 1 0 1', 'unknown kind: host (valid: dram, l1, '),
    ('alloc 0 dran 1 0 1', 'unknown kind: dran (did you mean "dram"?)'),
    ('alloc x dram 1 0 1', 'neither a device nor a mesh: x'),
    ('alloc 0 dram -1 0 1', 'not a number: -1'),
    ('alloc 0 dram 1 0 1Q', 'not a size: 1Q'),
    ('alloc 0 dram 0x1g 0 1', 'not a number: 0x1g'),
    ('alloc 4294967296 dram 1 0 1', 'neither a device nor a mesh'),
    ('alloc 0 dram 18446744073709551616 0 1', 'not a number'),
    ('allocate 0', 'unknown event: allocate (valid: alloc, cb, '),
    ('opne 0', 'unknown event: opne (did you mean "open"?)'),
    ('kernel 0 1 fabrik 1 1', 'unknown kernel type: fabrik (did you mean "fabric"?)'),
    ('open 0 board=q7', 'unknown board: q7'),
    ('open 0 index=1', 'index needs board before it'),
    ('open 0 colour=red', 'open: unknown key: colour (valid: board, '),
    ('open 0 l1_smal=1',
     'open: unknown key: l1_smal (did you mean "l1_small"?)'),
    ('open 0 chip', 'not KEY=VALUE: chip'),
    ('open 0 pci=1:2', 'not a PCI address: 1:2'),
    ('open 0 arch=abcdefghijklmnopq', 'longer than 16 bytes'),
    ('push "open', 'a quote is not closed'),
    ('push "\\q"', 'in quotes'),
    ('push "\\x00"', 'in quotes'),
    ('mesh 7 0', "a mesh's name begins with a letter: 7"),
    ('cores left', 'cores: too few words'),
    ('cores 7 0,0', "a core set's name begins with a letter: 7"),
    ('cores left 0,0-32,0', 'not a range of cores: 0,0-32,0'),
    ('cores left 3,0-2,0', 'not a range of cores: 3,0-2,0'),
    ('cores left 3', 'not a range of cores: 3'),
    ('cb 0 1 2 0 1K right', 'neither a number nor a core set: right'),
    ('cb 0 1 2 0 1K 8 borrowd', 'cb: too many words: borrowd (did you mean "borrowed"?)'),
    ('alloc 0 dram 1 0 1 bank=4', 'alloc: unknown key: bank (did you mean "banks"?)'),
    ('alloc 0 dram 1 0 1 banks=many', 'not a number: many'),
    ('failed 0 l1 1 lagest=4', 'failed: unknown key: lagest (did you mean "largest"?)'),
    ('pop_to', 'pop_to: too few words'),
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
        check_meshes(place)
        check_forks(place)
        check_random(place)
        check_sync(place)
        check_mistakes(place)
    print('script: as written')
    return 0


if __name__ == '__main__':
    sys.exit(main())
