#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_places.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

Objects on several devices, from recordings that were made up: no ttmemd is needed.
"""

import copy
import csv
import io
import json
import os
import sys

import dumps
from dumps import has, has_not, row, run
from gates import gate
import serve

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../top'))
import samples  # noqa: E402

MIB = samples.MIB
ORPHANED = ('--errors-for', 'orphaned')
LEAK = ('leak: 8.00 MiB in 1 object of 1.00 MiB on each of 8 devices: orphaned '
        'dram, scope "op matmul", devices 0-7, process main[24816], age 76 ms')
PART = ('leak: 8.00 MiB in 1 object of 2.00 MiB on each of 4 devices: orphaned '
        'dram, scope "kv_cache", devices 0-3 of 0-7, process serve[1001], age '
        '30 s')


def mesh(place, change=None):
    """The path of the sample; `change` may do something to it."""
    document = samples.mesh()[0]
    if change:
        change(document)
    return place.file('json', json.dumps(document) + '\n')


def table(text):
    return list(csv.DictReader(io.StringIO(text), strict=True))


# -- check --------------------------------------------------------------------


def check_leak_of_a_mesh_is_one_line(place):
    path = mesh(place)
    lines = gate(place, '--from', path, '--pid', '24816',
                 status=23).splitlines()
    serve.expect('lines', lines, [
        LEAK, 'SUMMARY: ttmem: 8388608 bytes leaked in 1 object (1 process, 8 '
        'devices)'])
    has(gate(place, '--from', path, '--pid', '24816', '--bytes', status=23),
        'leak: 8388608 bytes in 1 object of 1048576 bytes on each of 8 '
        'devices: ')


def check_single_device_is_as_before(place):
    has(gate(place, '--from', mesh(place), '--scope', 'halo', status=23),
        'leak: 64.0 KiB in 1 object of 64.0 KiB: live l1, scope "halo", device '
        '2, process serve[1001], age 30 s\n', '(1 process, 1 device)')


def check_orphaned_part(place):
    """It is a leak on its devices only."""
    path = mesh(place)
    lines = gate(place, '--from', path, *ORPHANED, status=23).splitlines()
    serve.expect('leaks', sorted(lines[:2]), sorted((LEAK, PART)))
    serve.expect('summary', lines[-1], 'SUMMARY: ttmem: 16777216 bytes leaked '
                 'in 2 objects (2 processes, 8 devices)')
    # What is live of it does not count.
    has(gate(place, '--from', path, *ORPHANED, status=23),
        'not counted: 8.00 MiB in 1 object of 2.00 MiB on each of 4 devices: '
        'live dram, scope "kv_cache", devices 4-7 of 0-7')
    has_not(gate(place, '--from', path, *ORPHANED, '--device', '5',
                 status=23), 'leak: 8.00 MiB in 1 object of 2.00')
    has(gate(place, '--from', path, *ORPHANED, '--device', '3', status=23),
        PART, LEAK)
    # Both parts count: the object does once.
    has(gate(place, '--from', path, '--scope', 'kv_cache', status=23),
        'SUMMARY: ttmem: 16777216 bytes leaked in 1 object (1 process, 8 '
        'devices)')


def check_json(place):
    done = run(place, 'check', '--from', mesh(place), *ORPHANED, '--format',
               'json', status=23)
    found = json.loads(done.stdout)
    serve.expect('leaks', sorted(
        (r['scope'], r['size'], r['bytes'], r['objects'], r['place'],
         r['part_of'], r['devices'], r['some_devices'])
        for r in found['leaks']), [
            ('kv_cache', 2 * MIB, 8 * MIB, 1, '0-3', '0-7', 4,
             ['0', '1', '2', '3']),
            ('op matmul', MIB, 8 * MIB, 1, '0-7', None, 8,
             ['0', '1', '2', '3'])])
    serve.expect('sums', (found['leaked_bytes'], found['leaked_objects']),
                 (16 * MIB, 2))


def check_suppressions_and_baseline(place):
    path = mesh(place)
    supp = place.file('supp', 'leak:kv_*\n')
    has(gate(place, '--from', path, *ORPHANED, '--suppressions', supp,
             status=23), '8388608 bytes in 1 object suppressed')
    known = f'{place.files}/baseline'
    has(gate(place, '--from', path, *ORPHANED, '--baseline', known,
             '--update-baseline'), '16777216 bytes in 2 objects in the')
    with open(known, encoding='utf-8') as file:
        serve.expect('baseline', sorted(file.read().splitlines()), [
            '# class kind size count devices scope', '# ttmem baseline 2',
            'orphaned dram 1048576 1 8 op matmul',
            'orphaned dram 2097152 1 4 kv_cache'])
    gate(place, '--from', path, *ORPHANED, '--baseline', known)
    # On other devices it is still known, on more of them it is another leak.
    less = mesh(place, lambda d: d['objects'][1].update(
        orphaned_devices=3, orphaned_place=place_of(d, 1, (0, 1, 2)),
        live_place=place_of(d, 1, (3, 4, 5, 6, 7))))
    has(gate(place, '--from', less, *ORPHANED, '--baseline', known, status=23),
        'on each of 3 devices: orphaned dram, scope "kv_cache", devices 0-2 of '
        '0-7', '6291456 bytes leaked in 1 object (1 process, 3 devices)')
    old = place.file('old', '# ttmem baseline 1\norphaned dram 1048576 8 op '
                     'matmul\norphaned dram 2097152 4 kv_cache\n')
    gate(place, '--from', path, *ORPHANED, '--baseline', old)


def place_of(document, number, members):
    """A place with these devices of the object with that number."""
    whole = document['places'][document['objects'][number]['place']]
    document['places'].append({
        'process': whole['process'], 'label': samples.label(members),
        'devices': [whole['devices'][m] for m in members],
        'usages': [whole['usages'][m] for m in members]})
    return len(document['places']) - 1


def check_limits_are_per_device(place):
    path = mesh(place)
    has(gate(place, '--from', path, '--errors-for', 'persistent', '--max',
             'dram=4M'), 'no leaks')
    has(gate(place, '--from', path, '--errors-for', 'persistent', '--max',
             'dram=4194303', status=5), 'device 0 has 4.00 MiB', 'and 7 more')


def check_unknown_place(place):
    """It may be a leak, wherever it is."""
    path = mesh(place, lambda d: d['objects'][0].update(
        place=None, orphaned_place=None, process=None, leak_class=None,
        orphaned_devices=None, orphaned=None))
    has(gate(place, '--from', path, *ORPHANED, status=23),
        'on each of 8 devices: unknown dram, scope "op matmul", devices -, '
        'process -')


# -- report -------------------------------------------------------------------


def check_report(place):
    text = run(place, '--from', mesh(place)).stdout
    live = text.split('Live objects: ')[1].split('Orphaned objects')[0]
    orphans = text.split('Orphaned objects')[1]
    has(text, 'Live objects: 3, 16.1 MiB\n',
        '(their owner is gone or closed the device): 2, 16.0 MiB\n')
    serve.expect('live', row(live, '2.00 MiB')[:6], [
        '2.00 MiB', '1.50 MiB', '8.00 MiB', 'dram', '4-7 of 0-7',
        'serve[1001]'])
    serve.expect('single', row(live, '64.0 KiB')[:5],
                 ['64.0 KiB', '64.0 KiB', '64.0 KiB', 'l1', '2'])
    serve.expect('orphan', row(orphans, '1.00 MiB')[:5],
                 ['1.00 MiB', '1.00 MiB', '8.00 MiB', 'dram', '0-7'])
    serve.expect('failure', row(text.split('Failed allocations')[1], '6 ms'), [
        '6 ms', '96.0 MiB', '12.0 MiB', '24.0 MiB', '-', 'l1', '0-7',
        'serve[1001]', 'op matmul'])
    # Requested bytes are shown where they differ: on devices 4 to 7.
    parts = text.split('\nDevice ')[1:]
    for number, part in enumerate(parts):
        titles = part.splitlines()[1].split()
        serve.expect(f'column of {number}', 'REQUESTED' in titles, number > 3)
        has(part, 'Dispatches: ')
        serve.expect(f'note of {number}', 'no bank figures were told' in part,
                     number == 2)
    serve.expect('used', row(parts[4], 'DRAM buffers')[1:4],
                 ['3.00 MiB', '2.50 MiB', '2'])
    has(text, 'footprint ')
    has_not(text, 'footprint, at least')
    has(run(place, '--from', mesh(place, lambda d: d['devices'][0].update(
        cb_footprint_exact=False))).stdout, 'footprint, at least')


def check_groups(place):
    text = run(place, '--from', mesh(place), '--group-by', 'device').stdout
    live = text.split('Live objects: ')[1].split('Orphaned objects')[0]
    serve.expect('groups', [row(live, '8.00 MiB', n)[1:4] + row(
        live, '8.00 MiB', n)[-1:] for n in (0, 1)],
                 [['1', '4', '1', '4-7 of 0-7'], ['1', '8', '1', '0-7']])
    text = run(place, '--from', mesh(place), '--group-by', 'kind').stdout
    serve.expect('kinds', row(text.split('Live objects: ')[1], '16.0 MiB')[1:4],
                 ['2', '8', '1'])


def check_csv(place):
    path = mesh(place)
    objects = table(run(place, '--from', path, '--format', 'csv', '--table',
                        'objects').stdout)
    serve.expect('objects', [
        (o['scope'], o['scope_path'], o['devices'], o['device_count'],
         o['orphaned_on'], o['bytes'], o['total_bytes'], o['requested_bytes'],
         o['banks'], o['bytes_per_bank']) for o in objects], [
            ('kv_cache', 'session 7 > kv_cache', '0-7', '8', '0-3',
             str(2 * MIB), str(16 * MIB), str(3 * MIB // 2), '8', '262144'),
            ('weights', 'weights', '0-7', '8', '', str(MIB), str(8 * MIB),
             str(MIB), '8', '131072'),
            ('op matmul', 'op matmul', '0-7', '8', '0-7', str(MIB),
             str(8 * MIB), str(MIB), '8', '131072'),
            ('halo', 'halo', '2', '1', '', '65536', '65536', '65536', '',
             '')])
    devices = table(run(place, '--from', path, '--format', 'csv', '--table',
                        'devices').stdout)
    serve.expect('devices', [
        (d['dram_bytes'], d['dram_requested_bytes'], d['cb_footprint_exact'],
         d['buffers_without_banks']) for d in (devices[0], devices[2],
                                               devices[4])],
                 [(str(MIB), str(MIB), 'true', '0'),
                  (str(MIB), str(MIB), 'true', '1'),
                  (str(3 * MIB), str(5 * MIB // 2), 'true', '0')])
    groups = table(run(place, '--from', path, '--format', 'csv', '--table',
                       'objects', '--group-by', 'device,scope').stdout)
    serve.expect('groups', sorted((g['device'], g['scope'], g['bytes'],
                                   g['objects'], g['devices'])
                                  for g in groups), [
        ('0-3 of 0-7', 'kv_cache', str(8 * MIB), '1', '4'),
        ('0-7', 'op matmul', str(8 * MIB), '1', '8'),
        ('0-7', 'weights', str(8 * MIB), '1', '8'),
        ('2', 'halo', '65536', '1', '1'),
        ('4-7 of 0-7', 'kv_cache', str(8 * MIB), '1', '4')])


def check_filtered_json(place):
    """Rows that are left out are null in the places that stay."""
    document = dumps.document(place, '--from', mesh(place), '--device', '2')
    serve.expect('devices', [d['logical'] for d in document['devices']], [2])
    serve.expect('objects', [
        (o['scope'], document['places'][o['place']]['label'])
        for o in document['objects']], [
            ('op matmul', '0-7'), ('kv_cache', '0-7'), ('weights', '0-7'),
            ('halo', '2')])
    kept = document['objects'][1]
    places = document['places']
    serve.expect('parts', (places[kept['live_place']]['label'],
                           places[kept['orphaned_place']]['label']),
                 ('4-7', '0-3'))
    serve.expect('orphaned place', places[kept['orphaned_place']]['devices'],
                 [None, None, 0, None])
    for place_row in places:
        for device, usage in zip(place_row['devices'], place_row['usages']):
            serve.expect('both', device is None, usage is None)
            if usage is not None:
                serve.expect('usage', document['shares'][usage]['process'],
                             place_row['process'])
    again = place.file('json', json.dumps(document) + '\n')
    serve.expect('again', dumps.document(place, '--from', again), document)
    by_pid = dumps.document(place, '--from', mesh(place), '--pid', '24816')
    serve.expect('of one process', [
        (o['process'], by_pid['places'][o['place']]['process'])
        for o in by_pid['objects']], [(0, 0)])


def check_round_trip(place):
    path = mesh(place)
    first = dumps.document(place, '--from', path)
    again = place.file('again', json.dumps(first) + '\n')
    serve.expect('again', dumps.document(place, '--from', again), first)
    with open(path, encoding='utf-8') as file:
        serve.expect('places', first['places'], json.load(file)['places'])


def check_diff(place):
    old = mesh(place)
    document = samples.mesh()[0]
    one = copy.deepcopy(document['objects'][2])
    one.update(id='0x77', scope='new', scope_path='new')
    document['objects'].append(one)
    # Closed on one more device: the object is the same.
    document['objects'][1].update(
        orphaned_devices=5, orphaned_place=place_of(document, 1, range(5)),
        live_place=place_of(document, 1, range(5, 8)))
    new = place.file('new', json.dumps(document) + '\n')
    text = run(place, 'diff', old, new).stdout
    objects = text.split('Objects: ')[1]
    serve.expect('objects', objects.splitlines()[0], '1')
    serve.expect('came', row(objects, 'came'), [
        'came', '+8.00 MiB', '-', '8.00 MiB', '+1', '0-7', 'serve[1001]',
        'dram', 'new'])
    serve.expect('processes', row(text.split('Processes: ')[1], 'changed')[4],
                 '+1')


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_leak_of_a_mesh_is_one_line, check_single_device_is_as_before,
        check_orphaned_part, check_json, check_suppressions_and_baseline,
        check_limits_are_per_device, check_unknown_place, check_report,
        check_groups, check_csv, check_filtered_json, check_round_trip,
        check_diff)))
