#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ttmemd costs, and how late it is, with the real programs: a table, and JSON
on request. Nothing is asserted; targets are shown beside the figures.

Processor times are those of the kernel for ttmemd's threads. On a busy machine
compare medians and best tenths, not single figures.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
MEASURES = ('visible', 'idle', 'memory', 'attach', 'mesh', 'snapshot',
            'publish', 'retired')


def number(text):
    return int(float(text))


def options_parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('ttmemd')
    parser.add_argument('load', help='ttmem-load')
    parser.add_argument('seen')
    parser.add_argument('--only', action='append', choices=MEASURES,
                        help='may be repeated (default: all)')
    parser.add_argument('--rate', type=number, default=10000,
                        help='events per second (visible)')
    parser.add_argument('--idle-processes', type=number, default=500)
    parser.add_argument('--memory-processes', type=number, default=1000,
                        help='idle ones, with an event each (memory)')
    parser.add_argument('--mesh-devices', type=number, default=32,
                        help='(mesh)')
    parser.add_argument('--idle-threads', type=number, default=4)
    parser.add_argument('--objects', type=number, default=1000000,
                        help='live ones (attach, mesh, snapshot)')
    parser.add_argument('--processes', type=number, default=500,
                        help='(publish)')
    parser.add_argument('--devices', type=number, default=32,
                        help='(publish)')
    parser.add_argument('--process-rate', type=number, default=200,
                        help='events per second of each (publish)')
    parser.add_argument('--kills', type=number, default=20,
                        help='(retired)')
    parser.add_argument('--seconds', type=float, default=10,
                        help='of what goes by time (default: 10)')
    parser.add_argument('--json', action='store_true')
    return parser.parse_args()


class Place:
    """A base directory, with a ttmemd in it or not."""

    def __init__(self, options):
        self.options = options
        self.base = tempfile.mkdtemp(
            prefix='ttmem-bench.',
            dir=os.environ.get('TTMEM_DIR') or '/dev/shm')
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(('TTMEM_', 'TT_ALLOC_'))}
        self.server = None
        self.loads = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for load in self.loads:
            load.terminate()
        for load in self.loads:
            load.wait()
        if self.server:
            self.server.terminate()
            self.server.wait()
        shutil.rmtree(self.base)

    def serve(self):
        """Returns when it was started, in ns."""
        begin = time.monotonic_ns()
        self.server = subprocess.Popen(
            [self.options.ttmemd, '--dir', self.base, '--mode', 'user'],
            env=self.env, stderr=subprocess.DEVNULL)
        return begin

    def load(self, *words, ready=False):
        load = subprocess.Popen(
            [self.options.load, '--dir', self.base, '--quiet',
             *map(str, words)],
            env=self.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            text=True)
        self.loads.append(load)
        if ready and load.stdout.readline().strip() != 'ready':
            sys.exit('serve.py: the load does not hold')

    def seen(self, what, *words):
        done = subprocess.run(
            [self.options.seen, what, self.base, *map(str, words)],
            env=self.env, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def until(self, objects, processes):
        return self.seen('until', objects, processes)['seen_ns']

    def cpu_ns(self):
        """Of all threads of ttmemd."""
        spent = 0
        for path in glob.glob(f'/proc/{self.server.pid}/task/*/schedstat'):
            with open(path, encoding='ascii') as file:
                spent += int(file.read().split()[0])
        return spent

    def memory(self):
        """Private bytes of ttmemd, and those of the aggregate."""
        with open(f'/proc/{self.server.pid}/status', encoding='ascii') as file:
            words = dict(line.split(':', 1) for line in file if ':' in line)
        aggregate = os.stat(
            glob.glob(f'{self.base}/ttmem-*/aggregate')[0]).st_blocks * 512
        return int(words['RssAnon'].split()[0]) * 1024, aggregate


# -- measures -----------------------------------------------------------------

def visible(options):
    with Place(options) as place:
        place.serve()
        place.until(0, 0)
        found = place.seen('visible', options.rate, options.seconds)
        cpu = place.cpu_ns()
    late = found['visible_ms']
    yield ('hook to visible, p99', late['p99'], 'ms', '<= 20',
           f'{found["events_per_s"]:.0f} events/s, median {late["median"]:.1f},'
           f' max {late["max"]:.1f}')
    yield ('its processor time', cpu / options.seconds / 1e7, '% of a core',
           '', 'from its start to its end')


def idle(options):
    processes = options.idle_processes
    with Place(options) as place:
        place.load('--processes', processes, '--threads',
                   options.idle_threads, '--pattern', 'hold', '--objects', 10,
                   ready=True)
        place.serve()
        place.until(processes * options.idle_threads * 10, processes)
        time.sleep(12)  # a process is silent after a second, and long so
        parts = []
        for _ in range(10):
            before, begin = place.cpu_ns(), time.monotonic_ns()
            time.sleep(options.seconds / 10)
            parts.append((place.cpu_ns() - before) /
                         (time.monotonic_ns() - begin) * 100)
    parts.sort()
    yield ('idle processes, median', parts[5], '% of a core', '<= 1',
           f'{processes} x {options.idle_threads} lanes, best tenth '
           f'{parts[0]:.2f}, worst {parts[-1]:.2f}')


def private_bytes(pids):
    """Of these processes together, what only one of them has."""
    spent = 0
    for pid in pids:
        with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
            spent += sum(int(line.split()[1]) for line in file
                         if line.startswith('Private_Dirty:'))
    return spent * 1024


def idle_private_bytes(options, *words):
    """Of processes with one event each, and of their segments."""
    with Place(options) as place:
        place.load('--processes', options.memory_processes, '--pattern', 'hold',
                   '--objects', 1, *words, ready=True)
        load = place.loads[0].pid
        with open(f'/proc/{load}/task/{load}/children',
                  encoding='ascii') as file:
            private = private_bytes(file.read().split())
        segments = sum(os.stat(path).st_blocks * 512 for path in
                       glob.glob(f'{place.base}/ttmem-*/p.*'))
    return private, segments


def memory(options):
    untracked, _ = idle_private_bytes(options, '--untracked')
    private, segments = idle_private_bytes(options)
    yield ('memory of idle processes', (private - untracked + segments) / MIB,
           'MiB', '<= 250',
           f'{options.memory_processes} of one event: segments '
           f'{segments / MIB:.0f}, private {(private - untracked) / MIB:.0f}')


def objects_held(options, *words):
    """Until they are published: ns, ns of the processor, bytes of memory for each
    of them, of ttmemd and of its file."""
    with Place(options) as place:
        place.serve()
        place.until(0, 0)
        time.sleep(1)
        empty = place.memory()
    with Place(options) as place:
        place.load('--pattern', 'hold', '--objects', options.objects, *words,
                   ready=True)
        begin = place.serve()
        took = place.until(options.objects, 1) - begin
        cpu = place.cpu_ns()
        time.sleep(3)
        each = [(now - then) / options.objects
                for now, then in zip(place.memory(), empty)]
    return took, cpu, *each


def attach(options):
    took, cpu, private, aggregate = objects_held(options)
    yield ('objects attached and published', took / 1e9, 's', '<= 2',
           f'{options.objects} of one process, {cpu / 1e9:.2f} s of the '
           'processor')
    yield ('memory per object', private + aggregate, 'bytes', '<= 250',
           f'private {private:.0f}, aggregate {aggregate:.0f}')


def mesh(options):
    single = sum(objects_held(options)[2:])
    took, cpu, private, aggregate = objects_held(
        options, '--devices', options.mesh_devices, '--mesh')
    yield ('objects on a mesh published', took / 1e9, 's', '',
           f'{options.objects} on {options.mesh_devices} devices each, '
           f'{cpu / 1e9:.2f} s of the processor')
    yield ('memory per object on a mesh', private + aggregate, 'bytes', '',
           f'private {private:.0f}, aggregate {aggregate:.0f}')
    yield ('to that of a single device', (private + aggregate) / single,
           'times', '<= 2', f'there {single:.0f} bytes')


def snapshot(options):
    with Place(options) as place:
        place.load('--pattern', 'hold', '--objects', options.objects,
                   ready=True)
        place.serve()
        place.until(options.objects, 1)
        time.sleep(1)
        found = place.seen('snapshot', 5)
    yield ('snapshot without objects', found['totals_ms']['median'], 'ms', '',
           'processor time of the reader')
    yield ('snapshot with objects', found['objects_ms']['median'], 'ms', '',
           f'{found["objects"]} objects, at most '
           f'{found["peak_bytes"] / found["objects"]:.0f} bytes each')
    yield ('as JSON', found['json_ms']['median'], 'ms', '',
           f'{found["json_bytes"] / found["objects"]:.0f} bytes per object')


def publish(options):
    with Place(options) as place:
        place.serve()
        place.until(0, 0)
        place.load('--processes', options.processes, '--devices',
                   options.devices, '--pattern', 'churn', '--live', 100,
                   '--rate', options.process_rate, '--seconds', 3600)
        place.until(options.processes * 50, options.processes)
        time.sleep(5)
        before, begin = place.cpu_ns(), time.monotonic_ns()
        found = place.seen('published', options.seconds)
        cpu = (place.cpu_ns() - before) / (time.monotonic_ns() - begin)
    cost = found['publish_cpu_ms']
    each = found['events'] / max(found['publications'], 1)
    yield ('publication, median', cost['median'], 'ms', '',
           f'{options.processes} processes x {options.devices} devices, '
           f'{each:.0f} events each, best tenth {cost["best_tenth"]:.1f}')
    yield ('its processor time', cpu * 100, '% of a core', '',
           f'{found["publications"] / options.seconds:.1f} publications/s, '
           f'{found["events"] / options.seconds:.0f} events/s, '
           f'{found["missed"]} missed')


def retired(options):
    with Place(options) as place:
        place.serve()
        place.until(0, 0)
        late = place.seen('retired', options.kills)['retired_ms']
    yield ('kill -9 to retired, worst', late['max'], 'ms', '<= 100',
           f'{late["len"]} kills, median {late["median"]:.1f}')


def report(bench, measures, as_json):
    """Prints what (measure, what, value, unit, target, note) come."""
    rows = []
    if not as_json:
        print(f'{"":32} {"":>9} {"":12} target')
    for name, what, value, unit, target, note in measures:
        rows.append({'measure': name, 'what': what, 'value': value,
                     'unit': unit, 'target': target, 'note': note})
        if not as_json:
            print(f'{what:32} {value:9.2f} {unit:12} {target:7} {note}',
                  flush=True)
    if as_json:
        json.dump({'schema_version': 1, 'bench': bench,
                   'machine': os.uname().machine, 'rows': rows},
                  sys.stdout, indent=1)
        print()


def chosen(options):
    for name in MEASURES:
        if not options.only or name in options.only:
            for row in globals()[name](options):
                yield (name, *row)


def main():
    options = options_parse()
    report('serve', chosen(options), options.json)


if __name__ == '__main__':
    main()
