#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_formats.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

What programs read: JSON that holds what its schema promises, with filters and without,
CSV that parses and starts no formula, files that are complete or not there, and
recordings that are read back.
"""

import csv
import io
import json
import os
import stat
import subprocess
import sys

import dumps
from dumps import has, run
import serve


def two_loads(place):
    place.serve()
    one = place.run('open 0 chip=1\nopen 1 chip=2\npush "op a"\n'
                    'alloc 0 dram 1 0 1M\nalloc 1 l1 2 0 2M\n'
                    'failed 1 dram 5 5\nmark "one"\nsync\n')
    two = place.run('open 1 chip=2\nopen 0 chip=3\npush "op b"\n'
                    'alloc 0 dram 1 0 5M\nalloc 1 dram 2 0 7M\nmark "two"\n'
                    'failed 0 l1 6 6\nsync\n')
    dumps.settle(place, one, two)
    return one, two


def schema_of(place):
    return json.loads(run(place, 'schema').stdout)


# -- JSON ---------------------------------------------------------------------


def check_schema(place):
    schema = schema_of(place)
    with open(f'{os.environ["SOURCE_ROOT"]}/docs/snapshot.schema.json',
              encoding='utf-8') as file:
        serve.expect('schema', schema, json.load(file))
    if dumps.jsonschema:
        for name in ('snapshot', 'check'):
            dumps.schema(name).check_schema(dumps.schema(name).schema)


def check_json_is_what_the_reader_sees(place):
    loads = two_loads(place)
    document = dumps.document(place)
    serve.same(document, *(load.truth for load in loads))
    serve.expect('objects', sum(o['bytes'] for o in document['objects']),
                 15 * dumps.MIB)
    for table in ('histories', 'distributions'):
        if not isinstance(document[table], list):
            serve.fail(f'no {table}')
    if dumps.tool('jq'):
        text = run(place, '--format', 'json').stdout
        done = subprocess.run(
            ['jq', '-r', '.devices[].figures.dram.live_bytes'], input=text,
            capture_output=True, text=True, check=True)
        serve.expect('jq', sorted(map(int, done.stdout.split())),
                     [dumps.MIB, 5 * dumps.MIB, 7 * dumps.MIB])


def chips_of(document, row):
    """The chips of an object's place, each as its usage has it, too."""
    place = document['places'][row['place']]
    chips = [d['chip_id'] for d in document['devices']]
    for device, usage in zip(place['devices'], place['usages']):
        if usage is not None:
            serve.expect('device', document['shares'][usage]['device'], device)
    return ','.join('-' if d is None else chips[d] for d in place['devices'])


def names(document):
    """All rows in terms that do not depend on their numbers."""
    chips = [d['chip_id'] for d in document['devices']]
    pids = [p['pid'] for p in document['processes']]
    return {
        'chips': sorted(chips),
        'pids': sorted(pids),
        'shares': sorted((pids[s['process']], chips[s['device']])
                         for s in document['shares']),
        'objects': sorted(
            (pids[o['process']], chips_of(document, o), o['bytes'],
             pids[document['places'][o['place']]['process']])
            for o in document['objects']),
        'marks': sorted((pids[m['process']], m['text'])
                        for m in document['marks']),
        'failures': sorted((pids[f['process']], chips_of(document, f),
                            f['bytes']) for f in document['failures']),
        'histories': sorted({chips[h['device']]
                             for h in document['histories']}),
    }


def check_json_with_filters(place):
    one, two = two_loads(place)
    serve.wait_for('histories', lambda: serve.expect(
        'devices with one', len({h['device'] for h in dumps.document(place)[
            'histories']}), 3))
    mib = dumps.MIB
    one_a = (one.pid, '0x1', mib, one.pid)
    one_b = (one.pid, '0x2', 2 * mib, one.pid)
    two_a = (two.pid, '0x3', 5 * mib, two.pid)
    two_b = (two.pid, '0x2', 7 * mib, two.pid)
    wanted = {
        (): {'objects': sorted((one_a, one_b, two_a, two_b)),
             'chips': ['0x1', '0x2', '0x3']},
        ('--device', 'asic:2'): {
            'chips': ['0x2'], 'pids': sorted((one.pid, two.pid)),
            'objects': sorted((one_b, two_b)), 'histories': ['0x2'],
            'shares': sorted(((one.pid, '0x2'), (two.pid, '0x2'))),
            'failures': [(one.pid, '0x2', 5)]},
        ('--pid', two.pid): {
            'chips': ['0x2', '0x3'], 'pids': [two.pid],
            'objects': sorted((two_a, two_b)), 'marks': [(two.pid, 'two')],
            'failures': [(two.pid, '0x3', 6)]},
        ('--kind', 'l1'): {
            'chips': ['0x1', '0x2', '0x3'], 'objects': [one_b],
            'failures': [(two.pid, '0x3', 6)]},
        ('--scope', 'op b'): {'objects': sorted((two_a, two_b))},
        ('--device', '9'): {
            'chips': [], 'pids': [], 'objects': [], 'shares': [], 'marks': [],
            'failures': [], 'histories': []},
    }
    for options, parts in wanted.items():
        document = dumps.document(place, *options)
        found = names(document)
        for part, rows in parts.items():
            serve.expect(f'{options}: {part}', found[part], rows)
        # What was filtered is a snapshot like any other.
        path = place.file('json', json.dumps(document) + '\n')
        again = json.loads(run(place, '--from', path, '--format',
                               'json').stdout)
        serve.expect(f'{options} again', again, document)


def check_json_clash_process_is_renumbered(place):
    place.serve()
    first = place.run('open 7 chip=7\nalloc 7 dram 1 0 1M\nsync\n')
    load = place.run('open 0 chip=1 l1_base=64K l1_top=1M\n'
                     'cb 0 9 1 0x20000 16K 1\nalloc 0 l1 1 0x90000 64K\n'
                     'sync\n')
    dumps.settle(place, first, load)

    def attempt():
        document = dumps.document(place, '--device', '0')
        serve.expect('clash', document['devices'][0]['clash_process'], 0)
        serve.expect('pid', document['processes'][0]['pid'], load.pid)
    serve.wait_for('clash', attempt)


def check_watch_is_lines(place):
    place.serve()
    text = run(place, '--watch', '0.02', '--count', '4', '--format',
               'json').stdout
    documents = [json.loads(line) for line in text.splitlines()]
    serve.expect('documents', len(documents), 4)
    times = [d['info']['taken_ns'] for d in documents]
    serve.expect('in order', times, sorted(set(times)))
    path = place.file('json', text)
    serve.expect('the last', json.loads(run(
        place, '--from', path, '--format', 'json').stdout), documents[-1])


# -- CSV ----------------------------------------------------------------------


def tables_of(text):
    return [list(csv.DictReader(io.StringIO(part), strict=True))
            for part in text.split('\n\n')]


def check_csv(place):
    one, two = two_loads(place)
    devices, processes, objects = tables_of(
        run(place, '--format', 'csv').stdout)
    serve.expect('devices', {d['asic_id']: int(d['dram_bytes'])
                             for d in devices},
                 {'0x1': dumps.MIB, '0x2': 7 * dumps.MIB,
                  '0x3': 5 * dumps.MIB})
    serve.expect('unknown', {d['dram_capacity'] for d in devices}, {''})
    serve.expect('processes', {int(p['pid']): int(p['l1_bytes'])
                               for p in processes},
                 {one.pid: 2 * dumps.MIB, two.pid: 0})
    serve.expect('objects', [(int(o['pid']), o['kind'], int(o['bytes']),
                              o['scope']) for o in objects], [
        (two.pid, 'dram', 7 * dumps.MIB, 'op b'),
        (two.pid, 'dram', 5 * dumps.MIB, 'op b'),
        (one.pid, 'l1', 2 * dumps.MIB, 'op a'),
        (one.pid, 'dram', dumps.MIB, 'op a')])
    only = run(place, '--format', 'csv', '--table', 'devices', '--kind',
               'dram').stdout
    serve.expect('tables', len(tables_of(only)), 1)
    serve.expect('kinds', [k for k in tables_of(only)[0][0]
                           if k.endswith('_bytes')],
                 ['dram_bytes', 'dram_requested_bytes', 'dram_peak_bytes',
                  'dram_orphaned_bytes'])
    groups = tables_of(run(place, '--format', 'csv', '--table', 'objects',
                           '--group-by', 'scope', '--top', '1').stdout)[0]
    serve.expect('groups', [(g['scope'], g['kind'], int(g['bytes']),
                             g['objects'], g['devices'], g['processes'])
                            for g in groups],
                 [('op b', '', 12 * dumps.MIB, '2', '2', '1')])
    lines = run(place, '--format', 'csv', '--table', 'processes', '--watch',
                '0.02', '--count', '3').stdout.splitlines()
    serve.expect('titles once', sum(l.startswith('"time"') for l in lines), 1)
    serve.expect('lines', len(lines), 1 + 3 * 2)


def check_csv_starts_no_formula(place):
    place.serve()
    scopes = ('=1+1', '+1', '-1', '@x', '\\x09=1', '\\x0d=1', 'a,b', 'a"b',
              '\\xef\\xbc\\x9d1', 'plain')
    script = 'open 0 chip=1\n'
    for number, scope in enumerate(scopes):
        quoted = scope.replace('"', '\\"')
        script += f'push "{quoted}"\nalloc 0 dram {number} 0 1K\npop\n'
    load = place.run(script + 'sync\n')
    dumps.settle(place, load)
    text = run(place, '--format', 'csv', '--table', 'objects').stdout
    found = {r['scope'] for r in csv.DictReader(io.StringIO(text))}
    serve.expect('scopes', found, {
        "'=1+1", "'+1", "'-1", "'@x", r'\x09=1', r'\x0d=1', 'a,b', 'a"b',
        "'\uff1d1", 'plain'})


# -- files --------------------------------------------------------------------


def check_output_file(place):
    place.serve()
    path = f'{place.files}/out.json'
    run(place, '--format', 'json', '-o', path)
    with open(path, encoding='utf-8') as file:
        dumps.json_is_good(file.read())
    mask = os.umask(0)
    os.umask(mask)
    serve.expect('mode', stat.S_IMODE(os.stat(path).st_mode), 0o666 & ~mask)
    before = os.stat(path).st_ino
    link = f'{place.files}/link.json'
    os.symlink(path, link)
    done = run(place, '-o', link)
    serve.expect('stdout', done.stdout, '')
    if not os.path.islink(link) or os.stat(path).st_ino == before:
        serve.fail('the link was replaced, or the file was not')
    with open(path, encoding='utf-8') as file:
        has(file.read(), 'ttmem at ')
    run(place, '--watch', '0.02', '--count', '2', '--output', path)
    with open(path, encoding='utf-8') as file:
        serve.expect('reports', file.read().count('ttmem at '), 1)
    left = [n for n in os.listdir(place.files) if n.startswith('.')]
    serve.expect('left', left, [])
    run(place, '-o', '/dev/null')


def check_output_that_fails(place):
    place.serve()
    done = run(place, '-o', f'{place.files}/no/such', status=1)
    has(done.stderr, 'No such file')
    done = run(place, '-o', '/dev/full', status=1)
    has(done.stderr, 'No space left')
    with open('/dev/full', 'w', encoding='ascii') as full:
        for command in ((), ('--format', 'json'), ('--format', 'csv'),
                        ('schema',), ('--help',), ('doctor',), ('clean',)):
            done = subprocess.run([dumps.PROGRAM, *command], stdout=full,
                                  stderr=subprocess.PIPE, text=True,
                                  env=place.environment(), check=False)
            serve.expect(f'status of {command}', done.returncode, 1)
    # Nothing to write: what is there stays.
    path = place.file('old', 'old\n')
    run(place, '-o', path, '--from', place.file('json', ''), status=3)
    with open(path, encoding='utf-8') as file:
        serve.expect('old', file.read(), 'old\n')


def check_output_beyond_the_limit_for_files(place):
    """An error like others: no signal ends it, and nothing is left."""
    place.serve()
    dumps.busy(place)
    path = f'{place.files}/limited/report'
    os.mkdir(os.path.dirname(path))
    done = subprocess.run(['prlimit', '--fsize=100', dumps.PROGRAM, '-o', path],
                          text=True, capture_output=True, check=False,
                          timeout=60, env=place.environment())
    serve.expect('status', done.returncode, 1)
    serve.expect('stderr', done.stderr,
                 f'ttmem-dump: {path}: File too large\n')
    serve.expect('left', os.listdir(os.path.dirname(path)), [])


def check_from(place):
    two_loads(place)
    text = run(place, '--format', 'json').stdout
    document = json.loads(text)
    earlier = json.dumps(dict(document, objects=[])) + '\n'
    path = place.file('json', earlier + text)
    serve.expect('the last line', json.loads(run(
        place, '--from', path, '--format', 'json').stdout), document)
    has(run(place, '--from', path).stdout, 'recorded', 'op b')
    serve.expect('stdin', json.loads(run(
        place, '--from', '-', '--format', 'json', stdin=earlier + text).stdout),
        document)
    torn = place.file('json', text + earlier[:-40])
    serve.expect('a torn line', json.loads(run(
        place, '--from', torn, '--format', 'json').stdout), document)
    no_newline = place.file('json', earlier + text.rstrip('\n') + '\n\n')
    serve.expect('empty lines', json.loads(run(
        place, '--from', no_newline, '--format', 'json').stdout), document)
    done = run(place, '--from', place.file('json', ''), status=3)
    has(done.stderr, 'nothing in it')
    done = run(place, '--from', place.file('json', 'nonsense\n'), status=1)
    has(done.stderr, 'not a snapshot')
    done = run(place, '--from', place.file(
        'json', json.dumps(dict(document, schema_version=3)) + '\n'), status=4)
    has(done.stderr, 'another version')
    done = run(place, '--from', f'{place.files}/none', status=1)
    has(done.stderr, 'No such file')
    # What was not current when it was recorded is not current now.
    dead = dict(document, info=dict(document['info'], source='dead'))
    done = run(place, '--from', place.file('json', json.dumps(dead) + '\n'),
               status=3)
    has(done.stdout.splitlines()[0], 'WARNING (dead)')


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_schema, check_json_is_what_the_reader_sees,
        check_json_with_filters, check_json_clash_process_is_renumbered,
        check_watch_is_lines, check_csv, check_csv_starts_no_formula,
        check_output_file, check_output_that_fails,
        check_output_beyond_the_limit_for_files, check_from)))
