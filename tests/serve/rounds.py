# SPDX-License-Identifier: Apache-2.0
"""Real loads, a real ttmemd and the reader library, and what they have to agree on.

ttmem-load counts for itself what it does; ttmemd reads segments; snapdump prints what
the reader library makes of the aggregate. At rest all of it is equal, to the byte,
whatever happened to ttmemd meanwhile. What a killed client was just doing is in doubt,
and named: there the figures lie between two bounds.

Nothing here waits for time to pass: conditions are polled, and not for ever.
"""

import argparse
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FIGURES = ('dram', 'l1', 'system_memory', 'l1_small', 'trace', 'cb',
           'kernel_application', 'kernel_fabric', 'kernel_dispatch')
FLOWS = ('alloc_objects', 'alloc_bytes', 'free_objects', 'free_bytes')
LEFT = ('live_objects', 'live_bytes', 'orphaned_objects', 'orphaned_bytes',
        'requested_bytes')
TYPES = ('application', 'fabric', 'dispatch')
KINDS = FIGURES[:5]
KERNELS = FIGURES[6:]
GONE = ('exited', 'died')
# On a machine that is busy with other things, with sanitizers in everything.
PATIENCE = 240


class Failure(Exception):
    """What did not hold, for people."""


def fail(text):
    raise Failure(text)


def expect(what, found, wanted):
    if found != wanted:
        fail(f'{what}: {found!r} and not {wanted!r}')


def scale():
    """The size of heavy tests, as a factor."""
    return int(os.environ.get('TTMEM_TEST_SCALE', '100')) / 100


def scaled(number, least=1):
    return max(least, int(number * scale()))


def until(what, condition, seconds=PATIENCE, pause=0.01):
    """Polls; returns what the condition returned once that is true."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            fail(f'not within {seconds} s: {what() if callable(what) else what}')
        time.sleep(pause)


def children_of(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


# -- a place ------------------------------------------------------------------

class Place:
    """A base directory, and the programs; use it with `with`."""

    def __init__(self, programs):
        self.programs = programs
        self.base = tempfile.mkdtemp(prefix='ttmem-test.', dir='/dev/shm')
        self.own = f'{self.base}/ttmem-{os.getuid()}'
        self.home = f'{self.base}/ttmem-system' if os.geteuid() == 0 \
            else self.own
        self.started = []
        self.log = open(f'{self.base}/log', 'w+', encoding='utf-8')

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for process in self.started:
            if process.poll() is None:
                # Its processes would go on without it.
                for pid in [*children_of(process.pid), process.pid]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            process.wait()
        if kind:
            self.log.seek(0)
            print('--- what ttmemd and the loads said last:')
            print(''.join(self.log.readlines()[-40:]), end='')
        self.log.close()
        shutil.rmtree(self.base)

    def environment(self):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(('TTMEM_', 'TT_ALLOC_'))}
        env['TTMEM_DIR'] = self.base
        # It has a child at the end, which would be killed as a client.
        env['ASAN_OPTIONS'] = \
            env.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        return env

    def start(self, command, **options):
        process = subprocess.Popen(
            [str(word) for word in command], env=self.environment(),
            stderr=self.log, text=True, **options)
        self.started.append(process)
        return process

    def segments(self):
        """Names of the segment files there are."""
        try:
            return [n for n in os.listdir(self.own) if n.startswith('p.')]
        except FileNotFoundError:
            return []

    def strays(self):
        """Files that should not be there while ttmemd is at rest."""
        known = {'aggregate', 'ttmemd.lock', 'retired', 'lost'}
        found = []
        for folder in {self.own, self.home}:
            if os.path.isdir(folder):
                found += [n for n in os.listdir(folder)
                          if n not in known and not n.startswith('p.')]
        return found

    def snapshot(self, *wishes):
        """What the reader says; None while there are no figures."""
        done = subprocess.run(
            [self.programs.snapdump, self.base,
             *[f'--{wish}' for wish in wishes]], env=self.environment(),
            capture_output=True, text=True, check=False)
        if done.returncode == 3 or not done.stdout:
            return None
        if done.returncode:
            fail(f'snapdump: status {done.returncode}\n{done.stderr}')
        return json.loads(done.stdout)


class Server:
    """A ttmemd."""

    def __init__(self, place, *options):
        self.place = place
        self.process = place.start(
            [place.programs.ttmemd, '--dir', place.base, *options])
        self.pid = self.process.pid

    def is_up(self):
        if self.process.poll() is not None:
            fail(f'ttmemd ended with status {self.process.returncode}')
        # Its file gets its name complete with a publication; docs/aggregate.md.
        try:
            with open(f'{self.place.home}/aggregate', 'rb') as file:
                return int.from_bytes(os.pread(file.fileno(), 4, 0x38),
                                      'little') == self.pid
        except FileNotFoundError:
            return False

    def ready(self):
        """After its first publication."""
        until('a publication of ttmemd', self.is_up, pause=0.002)

    def kill(self):
        self.process.kill()
        expect('status of ttmemd', self.process.wait(), -signal.SIGKILL)

    def stop(self):
        self.process.terminate()
        expect('status of ttmemd', self.process.wait(PATIENCE), 0)


class Load:
    """A ttmem-load. `truth` is what it said last."""

    def __init__(self, place, *options):
        self.options = options
        self.killed = False
        self.process = place.start(
            [place.programs.load, '--dir', place.base, '--json', '-', '-q',
             *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.truth = None
        self.text = b''

    def pids(self):
        return children_of(self.process.pid)

    def ready(self):
        """It holds what it has by now."""
        lines = []
        while not lines or lines[-1] != 'ready':
            line = self.process.stdout.readline()
            if not line:
                fail(f'{self.options}: ended before it was ready')
            lines.append(line.strip())
        self.truth = json.loads(lines[-2])
        expect('phase', self.truth['phase'], 'hold')
        return self.truth

    def has_ended(self):
        """Without waiting, and without letting its pipe fill up."""
        pipe = self.process.stdout.fileno()
        while select.select([pipe], [], [], 0)[0]:
            part = os.read(pipe, 65536)
            if not part:
                self.process.wait()
                return True
            self.text += part
        return False

    def end(self, status=0):
        """Waits for its end; what it did is in `truth`."""
        self.process.stdin.close()
        while not self.has_ended():
            select.select([self.process.stdout.fileno()], [], [], 1)
        expect(f'status of {self.options}', self.process.returncode, status)
        lines = self.text.decode().strip().split('\n')
        self.truth = json.loads(lines[-1])
        expect('phase', self.truth['phase'], 'end')
        return self.truth

    def stop(self):
        """Ends it early, in order."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def kill(self):
        """Kills its processes, whatever they are doing; it tells."""
        self.killed = True
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


# -- what has to be there -----------------------------------------------------

def device_name(device):
    """As the load's document calls it."""
    if device['chip_id'] is not None:
        return f'chip {device["chip_id"]}'
    if device['pci_address'] is not None:
        return f'pci {device["pci_address"]}'
    return f'logical {device["logical"]}'


def records_of(process, is_mesh):
    """How many records a process wrote, without uncounted ones, if no call of it is
    in doubt: one for each change of an object, dispatch, failure and mark, however
    many devices it is on. With `is_mesh` all that it does is on all its devices."""
    objects = process['objects']
    records = process['marks'] + process['failed'] + \
        objects['allocated'] + objects['freed'] + objects['shrunk']
    dispatches = [sum(device['dispatches'].values())
                  for device in process['devices']]
    if is_mesh and dispatches:
        expect('dispatches on each device', set(dispatches), {dispatches[0]})
        del dispatches[1:]
    opens = sum(2 - device['open']  # opened, and closed
                for device in process['devices'])
    return records + sum(dispatches) + opens


def kernel_puts(process):
    """How many loads of kernels the library saw, dispatches included."""
    return sum(sum(device['dispatches'].values()) +
               sum(device['figures'][f]['alloc_objects'] for f in KERNELS)
               for device in process['devices'])


class Bounds:
    """Figures of one process: {(logical, what...): [least, most]}."""

    def __init__(self, process, gone, killed=False, is_mesh=False):
        self.pid = process['pid']
        self.gone = gone
        # Killed in its first call: it may have had a segment by then.
        self.optional = gone and not process['calls']
        self.values = {}
        self.doubts = len(process['in_doubt'])
        for device in process['devices']:
            self._device(device)
        for doubt in process['in_doubt']:
            for change in doubt['changes']:
                self._change(change)
        records = records_of(process, is_mesh)
        # A call may make several: many objects, many devices. And who was killed
        # may have opened or closed a device without having said so.
        slack = 2 * 64 if killed else 0
        # A loaded kernel whose entry is not in the first line of its bucket is
        # inserted again, found, and withdrawn: one uncounted FREE record more
        # (docs/layout.md). How often depends on what shares its bucket.
        self.records = [records - slack,
                        records + slack + kernel_puts(process) +
                        100000 * self.doubts]

    def _device(self, device):
        logical = device['logical']
        for kernel in TYPES:
            self._set(device['dispatches'][kernel],
                      logical, 'dispatches', kernel)
        for kind in KINDS:
            self._set(device['failures'][kind], logical, 'failures', kind)
        for figure, flows in device['figures'].items():
            for flow in FLOWS:
                self._set(flows[flow], logical, figure, flow)
            for unit in ('objects', 'bytes'):
                live, orphaned = flows[f'live_{unit}'], flows[f'orphan_{unit}']
                if self.gone:
                    live, orphaned = 0, live + orphaned
                self._set(live, logical, figure, f'live_{unit}')
                self._set(orphaned, logical, figure, f'orphaned_{unit}')
            self._set(0 if self.gone else flows['live_requested'],
                      logical, figure, 'requested_bytes')

    def _set(self, value, *key):
        self.values[key] = [value, value]

    def _change(self, change):
        words = change['name'].split('.')
        for logical in change['logical']:
            if words[0] == 'figures':
                flow, unit = words[2].split('_')
                if unit == 'requested':  # shown of what is live only
                    if not self.gone:
                        live = self.values[
                            logical, words[1], 'requested_bytes']
                        live[flow == 'alloc'] += \
                            change['by'] if flow == 'alloc' else -change['by']
                    continue
                self.values[logical, words[1], words[2]][1] += change['by']
                left = self.values[logical, words[1], f'orphaned_{unit}']
                if flow == 'alloc':
                    left[1] += change['by']
                else:
                    left[0] -= change['by']
            elif words[0] in ('dispatches', 'failures'):
                self.values[logical, words[0], words[1]][1] += change['by']


def share_values(share):
    """The same of a row."""
    values = {}
    logical = share['logical']
    for kernel in TYPES:
        values[logical, 'dispatches', kernel] = \
            share['dispatches'][f'kernel_{kernel}']
    for kind in KINDS:
        values[logical, 'failures', kind] = share['failures'][kind]
    for figure in FIGURES:
        for flow in (*FLOWS, *LEFT):
            values[logical, figure, flow] = share['figures'][figure][flow]
    return values


class Story:
    """All that ever happened in a place, as its loads told."""

    def __init__(self):
        self.loads = []

    def add(self, load):
        self.loads.append(load)
        return load

    def bounds(self):
        """{pid: Bounds}; a pid may have come twice."""
        found = {}
        for load in self.loads:
            if load.truth is None:
                continue
            gone = load.truth['phase'] == 'end'
            for process in load.truth['processes']:
                found.setdefault(process['pid'], []).append(
                    Bounds(process, gone, load.killed,
                           '--mesh' in load.options))
        return found


def differences(snapshot, story):
    """What the snapshot says otherwise; nothing, if all is well."""
    wrong = []
    rows = {}
    for index, row in enumerate(snapshot['processes']):
        rows.setdefault(row['pid'], []).append((index, row))
    bounds = story.bounds()
    for pid in set(rows) | set(bounds):
        found, due = rows.get(pid, []), bounds.get(pid, [])
        if not found and all(each.optional for each in due):
            continue
        if len(found) != len(due):
            wrong.append(f'process {pid}: {len(found)} rows, '
                         f'{len(due)} processes')
        elif len(found) == 1:
            wrong += process_differences(snapshot, *found[0], due[0])
    wrong += sum_differences(snapshot)
    return wrong + losses(snapshot)


def losses(snapshot):
    """What nobody can account for."""
    wrong = [f'{name}: {snapshot[name]}' for name in
             ('quarantine', 'untracked') if snapshot[name]]
    for row in snapshot['directories']:
        wrong += [f'{name} of {row["path"]}: {row[name]}' for name in row
                  if name.startswith(('lost_', 'dropped_')) and row[name]]
    return wrong


def process_differences(snapshot, index, row, bounds):
    wrong = []
    who = f'process {row["pid"]}'
    if (row['state'] in GONE) != bounds.gone:
        wrong.append(f'{who} is {row["state"]}')
    if any(row['lost_events'].values()):
        wrong.append(f'{who} lost {row["lost_events"]}')
    if not bounds.records[0] <= row['events'] <= bounds.records[1]:
        wrong.append(f'{who} has {row["events"]} records and not '
                     f'{bounds.records}')
    if row['missed'] > row['events']:
        wrong.append(f'{who} has missed {row["missed"]} of {row["events"]}')
    found = {}
    for share in snapshot['shares']:
        if share['process'] == index:
            found.update(share_values(share))
    for key, (least, most) in bounds.values.items():
        value = found.pop(key, 0)
        if not least <= value <= most:
            wrong.append(f'{who}, device {key[0]}, {key[1]} {key[2]}: '
                         f'{value} and not {least} to {most}')
    wrong += [f'{who}: {key} is {value}, and nobody said so'
              for key, value in found.items() if value]
    return wrong


def sum_differences(snapshot):
    """Devices are the sums of their shares."""
    wrong = []
    sums = [{} for _ in snapshot['devices']]
    for share in snapshot['shares']:
        for key, value in share_values(share).items():
            sums[share['device']][key[1:]] = \
                sums[share['device']].get(key[1:], 0) + value
    for device, total in zip(snapshot['devices'], sums):
        for key, value in share_values(device).items():
            if total.get(key[1:], 0) != value:
                wrong.append(f'{device_name(device)} {key[1:]}: {value}, its '
                             f'shares have {total.get(key[1:], 0)}')
    return wrong


def chip_differences(snapshot, story):
    """Devices are what the loads say of chips. Only without doubts."""
    wrong = []
    wanted = {}
    for load in story.loads:
        gone = load.truth['phase'] == 'end'
        for name, chip in load.truth['chips'].items():
            chip = dict(chip, logical=0, open=False)
            process = {'pid': 0, 'in_doubt': [], 'devices': [chip],
                       'marks': 0, 'calls': 1, 'failed': 0,
                       'objects': dict.fromkeys(
                           ('allocated', 'freed', 'shrunk'), 0)}
            for key, (value, _) in Bounds(process, gone).values.items():
                wanted[name, *key[1:]] = wanted.get((name, *key[1:]), 0) + value
    for device in snapshot['devices']:
        for key, value in share_values(device).items():
            due = wanted.pop((device_name(device), *key[1:]), 0)
            if value != due:
                wrong.append(f'{device_name(device)} {key[1:]}: {value} and '
                             f'not {due}')
    wrong += [f'{key}: {value} nowhere' for key, value in wanted.items()
              if value]
    return wrong


def object_differences(snapshot):
    """The objects one by one are the totals."""
    wrong = []
    if snapshot['info']['objects_consistent'] is not True:
        return ['objects are not of one moment']
    if len(snapshot['objects']) != snapshot['info']['objects_used']:
        wrong.append(f'{len(snapshot["objects"])} objects of '
                     f'{snapshot["info"]["objects_used"]}')
    sums = {}
    for item in snapshot['objects']:
        for state in ('live', 'orphaned'):
            place = item[f'{state}_place']
            usages = [] if place is None else \
                snapshot['places'][place]['usages']
            for usage in usages:
                key = (usage, item['figure'], state)
                objects, size = sums.get(key, (0, 0))
                sums[key] = (objects + 1, size + item['bytes'])
    for index, share in enumerate(snapshot['shares']):
        if snapshot['processes'][share['process']]['unlisted']:
            fail('a test with fewer objects, please')
        for figure in FIGURES:
            for state in ('live', 'orphaned'):
                sums_of = share['figures'][figure]
                found = sums.pop((index, figure, state), (0, 0))
                due = (sums_of[f'{state}_objects'], sums_of[f'{state}_bytes'])
                if found != due:
                    wrong.append(f'share {index} {figure} {state}: objects '
                                 f'{found}, totals {due}')
    wrong += [f'objects of no share: {key}' for key in sums]
    return wrong


def mesh_sizes(story):
    """{pid: on how many devices is each object}."""
    return {process['pid']:
            len(process['devices']) if '--mesh' in load.options else 1
            for load in story.loads if load.truth
            for process in load.truth['processes']}


def distribution_differences(snapshot, story):
    """Each record that tells of an object is in the distributions of all its devices,
    or was missed: what is missing there is at most what was missed, and what was
    missed beyond that are records of other sorts. A restart begins distributions anew:
    what a predecessor read, of processes retired by then, is missing, too."""
    wrong = []
    drained = {'bytes': 0, 'lifetime_ns': 0}
    for row in snapshot['distributions']:
        drained[row['kind']] += row['total']
    due = {'bytes': 0, 'lifetime_ns': 0}
    values = [0] * len(snapshot['processes'])
    for share in snapshot['shares']:
        for figure in share['figures'].values():
            due['bytes'] += figure['alloc_objects']
            due['lifetime_ns'] += figure['free_objects']
            values[share['process']] += \
                figure['alloc_objects'] + figure['free_objects']
    sizes = mesh_sizes(story)
    least = most = doubts = 0
    for row, of_row in zip(snapshot['processes'], values):
        size = sizes.get(row['pid'], 1)  # None for a moment
        others = row['events'] - of_row // size
        most += size * row['missed']
        least += size * (row['missed'] - others)
        doubts += size * row['in_flight']
    gap = sum(due.values()) - sum(drained.values())
    for kind, total in drained.items():
        if total > due[kind] + doubts:
            wrong.append(f'{total} values of {kind}, {due[kind]} objects')
    if snapshot['health']['restarts']:
        most = sum(due.values())
    if not least - doubts <= gap <= most + doubts:
        wrong.append(f'{sum(due.values())} objects came and went, '
                     f'{sum(drained.values())} are in distributions, '
                     f'what was missed is {least} to {most}, '
                     f'{doubts} in doubt')
    return wrong


def history_differences(snapshot):
    """Time and events never go back."""
    wrong = []
    for row in snapshot['histories']:
        columns = row['points']['columns']
        times, events = ([point[columns.index(name)]
                          for point in row['points']['rows']]
                         for name in ('time_ns', 'events'))
        for i in range(1, len(times)):
            if times[i] <= times[i - 1] or events[i] < events[i - 1]:
                wrong.append(
                    f'history of device {row["device"]}, '
                    f'{row["interval_ns"]} ns: {events[i - 1]} events at '
                    f'{times[i - 1]}, then {events[i]} at {times[i]}')
    return wrong


def settled(place, story, chips=True):
    """Waits until the snapshot is what the story says, all of it, and it is still so
    a little later. Returns the snapshot."""
    last = {}

    def look():
        snapshot = place.snapshot('objects', 'distributions', 'histories')
        if snapshot is None:
            last['wrong'] = ['no figures']
            return None
        last['wrong'] = differences(snapshot, story) + \
            object_differences(snapshot) + \
            distribution_differences(snapshot, story) + \
            history_differences(snapshot)
        if chips:
            last['wrong'] += chip_differences(snapshot, story)
        if snapshot['info']['source'] != 'ok':
            last['wrong'].append(f'source is {snapshot["info"]["source"]}')
        return not last['wrong'] and snapshot

    def what():
        return 'what the loads say:\n' + '\n'.join(last['wrong'][:40])

    until(what, look, pause=0.05)
    snapshot = look()
    if not snapshot:
        fail(f'it was right, and then not: {last["wrong"][:40]}')
    return snapshot


# -- a reader that never rests ------------------------------------------------

class Reader:
    """The program that takes snapshots all the time and looks for what cannot be."""

    def __init__(self, place, *options):
        self.process = place.start([place.programs.watcher, place.base, *options],
                                   stdout=subprocess.PIPE)

    def end(self):
        self.process.terminate()
        said, _ = self.process.communicate(timeout=PATIENCE)
        if self.process.returncode:
            fail(f'the reader: status {self.process.returncode}\n{said[:20000]}')
        counts = json.loads(said)
        print(f'reader: {counts}')
        return counts


# -- a test -------------------------------------------------------------------

def run(check, doc):
    """main() of a test: the programs are arguments."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('ttmemd', 'load', 'snapdump', 'watcher'):
        parser.add_argument(name)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    try:
        with Place(arguments) as place:
            check(place, arguments.seed)
    except Failure as failure:
        print(f'FAIL: {failure}')
        return 1
    print(f'{os.path.basename(sys.argv[0])}: seed {arguments.seed}, '
          f'{time.monotonic() - began:.1f} s')
    return 0
