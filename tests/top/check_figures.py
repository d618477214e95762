#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_figures.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

The figures on the screen are those of ttmem-dump --format json of the same snapshot,
device by device and process by process. Each is looked for below the title of its
column, where a person would look.
"""

import json
import re
import subprocess
import sys

import tops
from terminal import cells, serve

SIZE = (260, 60)
KERNELS = ('kernel_application', 'kernel_fabric', 'kernel_dispatch')
COLUMNS = {'DRAM': 'dram', 'L1': 'l1', 'CB': 'cb',
           'K.APP': 'kernel_application', 'K.FAB': 'kernel_fabric',
           'K.DSP': 'kernel_dispatch', 'SMALL': 'l1_small', 'TRACE': 'trace',
           'SYSM': 'system_memory'}


def bytes_text(count):
    """As ttmem-dump has it; unknown is a dash."""
    if count is None:
        return '-'
    if count < 1024:
        return f'{count} B'
    value, units = count / 1024, ['KiB', 'MiB', 'GiB', 'TiB']
    while value >= 1023.5:
        value /= 1024
        units.pop(0)
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f'{value:.{digits}f} {units[0]}'


def short(count):
    return re.sub(' (.).*', r'\1', bytes_text(count))


def percent(part, whole):
    return '-' if not whole or part is None else f'{100 * part / whole:.1f}%'


def dumped(place, path):
    """What ttmem-dump makes of the last snapshot of a recording."""
    done = subprocess.run(
        [tops.DUMP, 'report', '--from', path, '--format', 'json'], text=True,
        env=place.environment(), capture_output=True, check=False)
    if not done.stdout:
        serve.fail(f'ttmem-dump: {done.stderr}')
    return json.loads(done.stdout.splitlines()[-1])


class Table:
    """Rows of text below a header, cut where titles end or begin."""

    def __init__(self, header, titles, left=()):
        self.spans = {}
        start = 0
        found = [(m.start(), m.end(), m[0].rstrip('▲▼^v')) for m in
                 re.finditer(r'\S+', header)]
        serve.expect('titles', [t for _, _, t in found], list(titles))
        for at, (begin, end, title) in enumerate(found):
            if title in left:
                # What is right-aligned behind it reaches to the left.
                end = found[at + 1][0] - 1 if at + 1 < len(found) else None
                self.spans[title] = (begin, end)
                start = begin
            else:
                self.spans[title] = (start, end)
                start = end

    def value(self, row, title):
        start, end = self.spans[title]
        return ''.join(cells(row)[start:end]).strip()


def logical_order(document):
    return sorted(range(len(document['devices'])),
                  key=lambda i: document['devices'][i]['logical'])


def words_after(row, label):
    """The columns of a line of the breakdown, two blanks or a bar apart."""
    at = row.index(label) + len(label)
    return re.split(r'\s{2,}|(?<=%) ', row[at:].strip())


# -- devices ------------------------------------------------------------------


def device_row(screen, number, device):
    row = screen.rows[3 + number]
    tops.has(row, f'{short(device["dram_use"])}/'
             f'{short(device["dram_bytes"])}',
             f'{short(device["l1_tensix_use"])}/{short(device["l1_bytes"])}',
             percent(device['dram_use'], device['dram_bytes']),
             percent(device['l1_tensix_use'], device['l1_bytes']))
    if not re.match(rf' *{device["logical"]} ', row):
        serve.fail(f'device {device["logical"]} is not in {row!r}')


def lines_of(device):
    """Label of the breakdown: used, of, peak, count, orphaned."""
    figures = device['figures']

    def line(name, size, used=None, peak=True):
        sums = figures[name]
        return (sums['live_bytes'] if used is None else used, size,
                sums['peak_bytes'] if peak else None, sums['live_objects'],
                sums['orphaned_bytes'] if peak else None)
    l1 = device['l1_bytes']

    def kernel(name):
        # Those in the ring are on top of what L1 has.
        return line(name, None if device['ring_bytes'][name] else l1)
    kernels = [figures[k] for k in KERNELS]
    return {
        'L1 buffers': line('l1', l1),
        'L1_SMALL': line('l1_small', device['l1_small_bytes'] *
                         device['cores']),
        'CBs, footprint' if device['cb_footprint_exact'] else
        'CBs, at least': line('cb', l1, device['cb_footprint'], False),
        'all programs': line('cb', None),
        'Kernels': (sum(k['live_bytes'] for k in kernels), None, None,
                    sum(k['live_objects'] for k in kernels),
                    sum(k['orphaned_bytes'] for k in kernels)),
        'Fabric': line('kernel_fabric', None),
        'Dispatch': kernel('kernel_dispatch'),
        'Application': kernel('kernel_application'),
        'Total L1': (device['l1_tensix_use'], l1, device['l1_tensix_peak'],
                     None, None),
        'DRAM buffers': line('dram', device['dram_bytes']),
        'TRACE': line('trace', device['trace_bytes']),
        'Total DRAM': (device['dram_use'], device['dram_bytes'],
                       device['dram_peak'], None, None),
    }


def breakdown(screen, device):
    at = screen.find('MEMORY')[0]
    header = screen.rows[at]
    table = Table(header[header.index('MEMORY'):], (
        'MEMORY', 'USED', 'OF', 'USE%', 'PEAK', 'COUNT', 'ORPHANED',
        'DISPATCHED'), ('MEMORY',))
    begin = header.index('MEMORY')
    for label, (used, size, peak, count, orphaned) in lines_of(device).items():
        row = next((''.join(cells(r)[begin:]) for r in screen.rows[at:]
                    if ''.join(cells(r)[begin:]).strip().startswith(label)),
                   None)
        if row is None:
            serve.fail(f'no {label}:\n{screen.framed()}')
        found = {t: table.value(row, t) for t in (
            'USED', 'OF', 'PEAK', 'COUNT', 'ORPHANED')}
        found['PEAK'] = found['PEAK'].lstrip('! ')
        # Bars lie between label and figure.
        found['USED'] = re.sub(r'^.*?([\d.]+ \w+|-)$', r'\1', found['USED'])
        wanted = {'USED': bytes_text(used), 'OF': bytes_text(size),
                  'PEAK': bytes_text(peak),
                  'COUNT': '-' if count is None else str(count),
                  'ORPHANED': bytes_text(orphaned)}
        if label == 'Kernels':
            found.pop('OF')
            wanted.pop('OF')
        else:
            serve.expect(f'{label}: USE%', table.value(row, 'USE%').rstrip(
                '! '), percent(used, size))
        serve.expect(label, found, wanted)
    headroom = device['headroom']
    if headroom is not None:
        sign = '-' if headroom < 0 else ''
        tops.has(screen.row_of('CB headroom'),
                 sign + bytes_text(abs(headroom)))
        serve.expect('CLASH', 'CLASH' in screen.row_of('CB headroom'),
                     headroom < 0)


def sensors(screen, document, index):
    found = [t for t in document['telemetry'] if t['device'] == index]
    for row in found:
        tops.has(screen.row_of('Sensors'), f'{row["aiclk_mhz"]} MHz',
                 f'{round(row["temperature_mc"] / 1000)}',
                 f'{round(row["power_uw"] / 1e6)}')


def devices_are_right(place, path):
    document = dumped(place, path)
    with tops.top(place, '--replay', path, size=SIZE) as top:
        tops.first(top)
        for number, index in enumerate(logical_order(document)):
            device = document['devices'][index]
            if number:
                top.keys('d')
            top.shows(f'Device {device["logical"]}  ')
            screen = tops.settled(top)
            device_row(screen, number, device)
            breakdown(screen, device)
            sensors(screen, document, index)


def check_devices_of_a_sample(place):
    devices_are_right(place, tops.sample(place, 'small'))


def check_devices_of_a_recording(place):
    devices_are_right(place, tops.recording(place))


# -- processes ----------------------------------------------------------------


def taken(document, index):
    """Bytes of a process of each kind, on all of its devices."""
    shares = [s for s in document['shares'] if s['process'] == index]
    return {f: sum(s['figures'][f]['live_bytes'] +
                   s['figures'][f]['orphaned_bytes'] for s in shares)
            for f in COLUMNS.values()}, sum(
                v['peak_bytes'] for s in shares
                for v in s['figures'].values())


def processes_are_right(place, path):
    document = dumped(place, path)
    with tops.top(place, '--replay', path, size=SIZE) as top:
        tops.first(top)
        screen = tops.press(top, 'processes')
        header = screen.row_of('COMMAND')
        table = Table(header, (
            'PID', 'USER', 'STATE', 'DEV', 'DRAM', 'L1', 'CB', 'K.APP',
            'K.FAB', 'K.DSP', 'SMALL', 'TRACE', 'SYSM', 'PEAK', 'OBJS',
            'EV/S', 'CONTAINER', 'COMMAND'),
            ('USER', 'STATE', 'DEV', 'CONTAINER', 'COMMAND'))
        for index, process in enumerate(document['processes']):
            row = next((r for r in screen.rows if re.match(
                rf' *{process["pid"]} ', r)), None)
            if row is None:
                serve.fail(f'no {process["pid"]}:\n{screen.framed()}')
            bytes_of, peak = taken(document, index)
            wanted = {t: short(bytes_of[f]) for t, f in COLUMNS.items()}
            wanted.update({'PEAK': short(peak),
                           'OBJS': str(process['objects']),
                           'EV/S': str(process['events_per_s'])})
            serve.expect(str(process['pid']), {
                t: table.value(row, t).split(' ')[-1] for t in wanted},
                wanted)
            tops.has(row, process['comm'])


def check_processes_of_a_sample(place):
    processes_are_right(place, tops.sample(place, 'small'))


def check_processes_of_a_recording(place):
    processes_are_right(place, tops.recording(place))


if __name__ == '__main__':
    sys.exit(tops.run_all(__doc__, [
        check_devices_of_a_sample, check_devices_of_a_recording,
        check_processes_of_a_sample, check_processes_of_a_recording,
    ]))
