#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_telemetry.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

What the driver says about its devices, beside their memory: each board, devices that
come and go, who holds them, and reads that fail or never return. The trees are those
of ttmem-load --fake-sysfs. $READ_ERRORS is a library to preload whose read(2) fails as
files say; without it that part is left out.
"""

import errno
import os
import shutil
import statistics
import subprocess
import sys
import time

import serve
from serve import MIB

GIB = 1 << 30
WORMHOLE_L1 = 1499136
BLACKHOLE_L1 = 1572864
BANK = 4278190080
# Number of the board, devices of the driver, card type, cores, L1 per core, DRAM.
BOARDS = {
    'n150': (0, 1, 'n150', 72, WORMHOLE_L1, 12 * GIB),
    'n300': (1, 1, 'n300', 64, WORMHOLE_L1, 12 * GIB),
    'galaxy-wormhole': (2, 32, 'galaxy-wormhole', 80, WORMHOLE_L1, 12 * GIB),
    'p100': (3, 1, 'p100a', 120, BLACKHOLE_L1, 7 * BANK),
    'p150': (4, 1, 'p150a', 120, BLACKHOLE_L1, 8 * BANK),
    'p300': (5, 2, 'p300a', 120, BLACKHOLE_L1, 8 * BANK),
    'galaxy-blackhole': (6, 32, 'galaxy-blackhole', 130, BLACKHOLE_L1,
                         8 * BANK),
}


class Tree:
    """A fake sysfs and procfs below the place's files."""

    def __init__(self, place):
        self.place = place
        self.root = f'{place.files}/driver'
        os.makedirs(self.root)
        self.options = ('--sysfs-root', f'{self.root}/sys',
                        '--proc-root', f'{self.root}/proc')

    def make(self, board, *options):
        subprocess.run([self.place.programs.load, '--fake-sysfs', self.root,
                        '--board', board, '--quiet', *options], check=True,
                       env=self.place.environment())

    def entry(self, number):
        return f'{self.root}/sys/class/tenstorrent/tenstorrent!{number}'

    def path(self, number, name):
        if name == 'pids':
            return f'{self.root}/proc/driver/tenstorrent/{number}/pids'
        folder = self.entry(number)
        if not name.startswith('tt_') and name != 'device':
            folder += f'/device/hwmon/hwmon{number}'
        return f'{folder}/{name}'

    def put(self, number, name, text):
        path = self.path(number, name)
        with open(f'{path}.next', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(f'{path}.next', path)

    def block(self, number, name):
        """Whoever reads it waits for ever."""
        os.remove(self.path(number, name))
        os.mkfifo(self.path(number, name))

    def remove(self, number):
        """As the driver does; where it was is returned."""
        link = os.readlink(self.entry(number))
        os.remove(self.entry(number))
        return link


def read_whole(snapshot, count):
    """So many devices, and all of each was read."""
    serve.expect('devices of the driver', len(snapshot['telemetry']), count)
    serve.expect('that were read', [
        t['number'] for t in snapshot['telemetry'] if not t['rounds']], [])


def telemetry_of(snapshot, number):
    return snapshot.one('telemetry', number=number)


def device_of(snapshot, number):
    at = telemetry_of(snapshot, number)['device']
    return snapshot['devices'][at] if at is not None else \
        serve.fail(f'device {number} is none')


def chip_id(board, chip):
    return f'{(0x77000000 + BOARDS[board][0]) << 32 | chip + 1:#x}'


# -- boards -------------------------------------------------------------------


def board_is_shown(snapshot, board):
    number, count, card, cores, l1_bytes, dram = BOARDS[board]
    wormhole = l1_bytes == WORMHOLE_L1
    serve.expect('devices', len(snapshot['devices']), count)
    for at in range(count):
        row = telemetry_of(snapshot, at)
        device = device_of(snapshot, at)
        serve.expect('chip', (row['chip_id'], device['chip_id'],
                              device['identity'], device['logical']),
                     (chip_id(board, at), chip_id(board, at), 'chip', None))
        serve.expect('address', (row['pci_address'], device['pci_address']),
                     (f'{number:04x}:{at:02x}:00.0',) * 2)
        serve.expect('names', (row['card_type'], device['board'], row['arch'],
                               device['arch'], row['sensor']),
                     (card, card, *['wormhole_b0' if wormhole else
                                    'blackhole'] * 2,
                      'wormhole' if wormhole else 'blackhole'))
        serve.expect('capacities', (
            device['capacity_source'], device['cores'],
            device['l1_bytes_per_core'], device['l1_bytes'],
            device['dram_bytes']),
            ('board', cores, l1_bytes, cores * l1_bytes, dram))
        serve.expect('in use', (device['processes'], device['dram_use']),
                     (0, 0))
        values_make_sense(row, wormhole)
        serve.expect('holders', (row['holders'], row['holders_hidden']), (0, 0))


def values_make_sense(row, wormhole):
    for key, least, most in (
            ('aiclk_mhz', 500, 1350), ('axiclk_mhz', 900, 960),
            ('arcclk_mhz', 540, 800), ('heartbeat', 1, 1 << 32),
            ('therm_trips', 0, 0), ('temperature_mc', 20000, 60000),
            ('temperature_max_mc', 70000, 90000),
            ('power_uw', 10 ** 7, 10 ** 8), ('power_max_uw', 10 ** 7, 10 ** 9),
            ('current_ma', 10 ** 3, 10 ** 6), ('voltage_mv', 600, 1000)):
        if row[key] is None or not least <= row[key] <= most:
            serve.fail(f'{key} is {row[key]}')
    for key in ('serial', 'firmware'):
        if not row[key]:
            serve.fail(f'no {key}')
    serve.expect('a fan', row['fan_rpm'] is None, wormhole)
    wanted = {k: 0 for k in row['errors']}
    if wormhole:
        wanted['fan_rpm'] = errno.ENOENT
    serve.expect('errors', row['errors'], wanted)
    serve.expect('never read', [k for k, v in row['ages_ns'].items()
                                if v is None],
                 ['fan_rpm'] if wormhole else [])


def check_every_board(place):
    for board, facts in BOARDS.items():
        tree = Tree(place)
        tree.make(board)
        server = place.serve(*tree.options)
        snapshot = place.sees(board, lambda s, n=facts[1]: read_whole(s, n))
        board_is_shown(snapshot, board)
        serve.expect('status', server.stop(), 0)
        shutil.rmtree(tree.root)
        # The next one is another machine.
        for name in os.listdir(place.base):
            shutil.rmtree(f'{place.base}/{name}')


def check_the_environment_names_the_roots(place):
    tree = Tree(place)
    tree.make('p150')
    env = dict(place.environment(), TTMEM_SYSFS_ROOT=f'{tree.root}/sys',
               TTMEM_PROC_ROOT=f'{tree.root}/proc')
    place.environment = lambda: env
    place.serve()
    place.sees('p150', lambda s: read_whole(s, 1))


# -- beside memory ------------------------------------------------------------


def hold(place, *options):
    """A load that has its objects and waits."""
    process = place.popen(
        [place.programs.load, '--dir', place.base, '--pattern', 'hold',
         '--objects', '10', *options], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    serve.expect('a load', 'ready' in line, True)
    return process


def check_a_load_and_the_driver_mean_one_device(place):
    """The remote chip of an n300 has memory, and no telemetry."""
    tree = Tree(place)
    tree.make('n300')
    place.serve(*tree.options)
    place.sees('n300', lambda s: read_whole(s, 1))
    hold(place, '--board', 'n300', '--devices', '2')

    def look(snapshot):
        serve.expect('devices', sorted(
            (d['chip_id'], d['logical'], d['capacity_source'], d['processes'])
            for d in snapshot['devices']),
            [(chip_id('n300', i), i, 'told', 1) for i in range(2)])
    snapshot = place.sees('two chips', look)
    serve.expect('telemetry', [
        snapshot['devices'][t['device']]['chip_id']
        for t in snapshot['telemetry']], [chip_id('n300', 0)])


def check_capacities_by_board_give_way(place):
    tree = Tree(place)
    tree.make('p150')
    place.serve(*tree.options)
    place.sees('p150', lambda s: read_whole(s, 1))
    load = place.run(f'open 0 chip={chip_id("p150", 0)}\n'
                     'alloc 0 dram 1 0x1000 1M\nsync\n'
                     f'open 0 chip={chip_id("p150", 0)} cores=110 dram=1G\n'
                     'sync\n')

    def source(wanted):
        def look(snapshot):
            device = snapshot.device(chip_id=chip_id('p150', 0))
            serve.expect('capacity', (device['capacity_source'],
                                      device['cores'], device['dram_bytes'],
                                      device['l1_bytes_per_core']), wanted)
        return look
    place.settled('nothing told', load, look=source(
        ('board', 120, 8 * BANK, BLACKHOLE_L1)))
    load.go()
    # What is still by board is said to be.
    place.settled('something told', load, look=source(
        ('board', 110, GIB, BLACKHOLE_L1)))


def check_a_board_that_only_the_runtime_tells_of(place):
    """As of a remote chip: no sysfs, but a name."""
    place.serve()
    calls = place.run('open 0 board=n300 index=1\n'
                      'alloc 0 dram 1 0x1000 1M\nsync\n')

    def look(snapshot):
        device = snapshot.device(chip_id=chip_id('n300', 1))
        serve.expect('capacity', (device['capacity_source'],
                                  device['cores']), ('told', 64))
        serve.expect('telemetry', snapshot['telemetry'], [])
    place.settled('the remote chip', calls, look=look)


# -- coming and going ---------------------------------------------------------


def check_devices_come_and_go(place):
    tree = Tree(place)
    place.serve(*tree.options)
    place.sees('nothing', lambda s: read_whole(s, 0))
    tree.make('p300')
    snapshot = place.sees('two', lambda s: read_whole(s, 2))
    serve.expect('devices', len(snapshot['devices']), 2)
    link = tree.remove(1)

    def one_left(snapshot):
        serve.expect('telemetry', [t['number'] for t in snapshot['telemetry']],
                     [0])
        serve.expect('devices', [d['chip_id'] for d in snapshot['devices']],
                     [chip_id('p300', 0)])
    place.sees('one is gone', one_left)
    hold(place, '--board', 'p300')
    os.symlink(link, tree.entry(1))
    place.sees('it is back', lambda s: read_whole(s, 2))
    tree.remove(0)

    def memory_stays(snapshot):
        serve.expect('telemetry', [t['number'] for t in snapshot['telemetry']],
                     [1])
        serve.expect('device', snapshot.device(
            chip_id=chip_id('p300', 0))['processes'], 1)
    place.sees('gone, and in use', memory_stays)


def check_a_reset_gives_another_number(place):
    tree = Tree(place)
    tree.make('p150')
    place.serve(*tree.options)
    before = place.sees('number 0', lambda s: read_whole(s, 1))
    os.rename(tree.entry(0), tree.entry(3))
    os.rename(os.path.dirname(tree.path(0, 'pids')),
              os.path.dirname(tree.path(3, 'pids')))

    def look(snapshot):
        read_whole(snapshot, 1)
        telemetry_of(snapshot, 3)
    after = place.sees('number 3', look)
    serve.expect('devices', [d['chip_id'] for d in after['devices']],
                 [d['chip_id'] for d in before['devices']])


def check_a_chip_that_tells_its_id_later(place):
    """By its address at first; then by its id, and nothing is left behind."""
    tree = Tree(place)
    tree.make('p150')
    with open(tree.path(0, 'tt_asic_id'), encoding='utf-8') as file:
        text = file.read()
    os.remove(tree.path(0, 'tt_asic_id'))
    place.serve(*tree.options)

    def by(identity, chip):
        def look(snapshot):
            serve.expect('devices', [
                (d['identity'], d['chip_id'], d['pci_address'])
                for d in snapshot['devices']],
                [(identity, chip, '0004:00:00.0')])
            serve.expect('telemetry', snapshot.one('telemetry')['device'], 0)
        return look
    place.sees('by address', by('pci', None))
    tree.put(0, 'tt_asic_id', text)
    place.sees('by its id', by('chip', chip_id('p150', 0)))


def check_a_restart_forgets_what_is_gone(place):
    tree = Tree(place)
    tree.make('p300')
    server = place.serve(*tree.options)
    place.sees('two', lambda s: read_whole(s, 2))
    serve.expect('status', server.stop(), 0)
    tree.remove(1)
    place.serve(*tree.options)
    snapshot = place.sees('one', lambda s: read_whole(s, 1))
    serve.expect('devices', [
        (d['chip_id'], d['capacity_source']) for d in snapshot['devices']],
        [(chip_id('p300', 0), 'board')])


# -- holders ------------------------------------------------------------------


def check_who_holds_a_device(place):
    tree = Tree(place)
    tree.make('p300')
    load = hold(place, '--board', 'p300')
    sleep = place.popen(['/bin/sleep', '1000'])
    dead = place.popen(['/bin/true'])
    dead.wait()
    place.serve(*tree.options)
    snapshot = place.sees('a process', lambda s: serve.expect(
        'processes', len(s['processes']), 1))
    pid = snapshot['processes'][0]['pid']
    tree.put(0, 'pids', f'{sleep.pid}\n{pid}\n0\n{sleep.pid}\n{dead.pid}\n0\n')
    tree.put(1, 'pids', f'{sleep.pid}\n')

    def look(snapshot):
        serve.expect('counts', [
            (t['holders'], t['holders_hidden']) for t in sorted(
                snapshot['telemetry'], key=lambda t: t['number'])],
            [(2, 2), (1, 0)])
        serve.expect('holders', sorted(
            (snapshot['telemetry'][h['telemetry']]['number'], h['pid'],
             h['comm'], h['uid'], h['reporting'], h['process'] is not None)
            for h in snapshot['holders']),
            sorted([(0, sleep.pid, 'sleep', os.getuid(), False, False),
                    (0, pid, 'ttmem-load', os.getuid(), True, True),
                    (1, sleep.pid, 'sleep', os.getuid(), False, False)]))
    snapshot = place.sees('holders', look)
    for holder in snapshot['holders']:
        serve.expect('its device', holder['device'],
                     snapshot['telemetry'][holder['telemetry']]['device'])
    held = snapshot.one('holders', pid=pid)
    serve.expect('the process', snapshot['processes'][held['process']]['pid'],
                 pid)
    sleeping = snapshot.all('holders', pid=sleep.pid)[0]
    serve.expect('its command', sleeping['cmdline'], ['/bin/sleep', '1000'])
    sleep.kill()
    sleep.wait()
    place.sees('one has ended', lambda s: serve.expect(
        'holders', [h['pid'] for h in s['holders']], [pid]))
    load.stdin.close()
    load.wait()


def check_holders_that_are_not_told(place):
    """No procfs, or nonsense in it: unknown, and never nobody."""
    tree = Tree(place)
    tree.make('p300')
    os.remove(tree.path(0, 'pids'))
    tree.put(1, 'pids', 'one\n')
    place.serve(*tree.options)
    snapshot = place.sees('p300', lambda s: read_whole(s, 2))
    for number, error in ((0, errno.ENOENT), (1, errno.EBADMSG)):
        row = telemetry_of(snapshot, number)
        serve.expect('holders', (row['holders'], row['errors']['holders']),
                     (None, error))


def check_the_tree_moves(place):
    tree = Tree(place)
    moving = place.popen([place.programs.load, '--fake-sysfs', tree.root,
                          '--board', 'n150', '--seconds', '1000'])
    place.serve(*tree.options)

    def look(snapshot):
        row = telemetry_of(snapshot, 0)
        if row['heartbeat_ns'] is None:
            serve.fail('a heart that does not beat')
        holder = snapshot.one('holders')
        serve.expect('holder', (holder['pid'], holder['comm'],
                                holder['reporting']),
                     (moving.pid, 'ttmem-load', False))
    place.sees('moving values', look)


# -- reads that fail or never return ------------------------------------------


def check_refusals(place):
    """ENODATA is not ready, ENODEV is gone; both pass."""
    library = os.environ.get('READ_ERRORS')
    if not library:
        print('left out: nothing to preload')
        return
    tree = Tree(place)
    tree.make('p150')
    env = dict(place.environment(), LD_PRELOAD=os.path.abspath(library))
    place.environment = lambda: env
    refused = {'tt_aiclk': ('aiclk_mhz', errno.ENODATA),
               'tt_heartbeat': ('heartbeat', errno.ENODEV),
               'temp1_input': ('temperature_mc', errno.ENODATA),
               'power1_input': ('power_uw', errno.ENODEV),
               'tt_serial': ('serial', errno.ENODATA)}
    before = {}
    for name, (_, error) in refused.items():
        with open(tree.path(0, name), encoding='utf-8') as file:
            before[name] = file.read()
        tree.put(0, name, f'!errno {error}')
    place.serve(*tree.options)
    snapshot = place.sees('refusals', lambda s: read_whole(s, 1))
    row = telemetry_of(snapshot, 0)
    for key, error in refused.values():
        serve.expect(key, (row[key], row['errors'][key], row['ages_ns'][key]),
                     (None, error, None))
    serve.expect('others', row['axiclk_mhz'], 960)
    for name, text in before.items():
        tree.put(0, name, text)
    place.sees('all of it again', lambda s: values_make_sense(
        telemetry_of(s, 0), False))


STEPS = 30


def visible_after(place, load):
    """Steps of a load, each until it is seen: median of seconds."""
    took = []
    for _ in range(STEPS):
        begin = time.monotonic()
        load.go()
        place.settled('a step', load)
        took.append(time.monotonic() - begin)
    return statistics.median(took)


def check_a_read_that_blocks_delays_no_memory(place):
    tree = Tree(place)
    tree.make('p300')
    server = place.serve(*tree.options)
    place.sees('p300', lambda s: read_whole(s, 2))
    load = place.run(
        f'open 0 chip={chip_id("p300", 0)}\nsync\n' + ''.join(
            f'alloc 0 dram {i} {i * MIB:#x} 1M\nsync\n'
            for i in range(1, 2 * STEPS + 2)))
    free = visible_after(place, load)
    tree.block(0, 'tt_heartbeat')

    def is_blocked(snapshot):
        if telemetry_of(snapshot, 0)['busy_ns'] is None:
            serve.fail('nobody waits')
    before = place.sees('a read that blocks', is_blocked)
    blocked = visible_after(place, load)
    print(f'visible after {free * 1e3:.1f} ms, {blocked * 1e3:.1f} ms while a '
          'read blocks')
    if blocked > 3 * free + 0.1:
        serve.fail(f'visible after {blocked} s instead of {free} s')

    def others_go_on(snapshot):
        was, row = telemetry_of(before, 0), telemetry_of(snapshot, 0)
        serve.expect('what it said', (row['heartbeat'], row['rounds'],
                                      row['times_ns']['heartbeat']),
                     (was['heartbeat'], was['rounds'],
                      was['times_ns']['heartbeat']))
        serve.expect('is known to be old', row['ages_ns']['heartbeat'] >
                     was['ages_ns']['heartbeat'], True)
        if telemetry_of(snapshot, 1)['rounds'] < \
                telemetry_of(before, 1)['rounds'] + 2:
            serve.fail('the other device is not read')
    place.sees('the other device', others_go_on)
    begin = time.monotonic()
    serve.expect('status', server.stop(), 0)
    if time.monotonic() - begin > 5:
        serve.fail('the end waited for the device')


def check_a_list_of_holders_that_blocks(place):
    tree = Tree(place)
    tree.make('p300')
    tree.block(0, 'pids')
    server = place.serve(*tree.options)

    def look(snapshot):
        row = telemetry_of(snapshot, 0)
        serve.expect('the device', (row['pci_address'], row['arch'],
                                    row['holders'], row['busy_ns'] is None),
                     ('0005:00:00.0', 'blackhole', None, False))
        if not telemetry_of(snapshot, 1)['rounds']:
            serve.fail('the other device is not read')
    place.sees('one of two', look)
    # Somebody has it open, and answers.
    with open(tree.path(0, 'pids'), 'w', encoding='utf-8') as pids:
        pids.write('0\n')
        os.remove(tree.path(0, 'pids'))
    place.sees('an answer', lambda s: read_whole(s, 2))
    serve.expect('status', server.stop(), 0)


if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, (
        check_every_board,
        check_the_environment_names_the_roots,
        check_a_load_and_the_driver_mean_one_device,
        check_capacities_by_board_give_way,
        check_a_board_that_only_the_runtime_tells_of,
        check_devices_come_and_go,
        check_a_reset_gives_another_number,
        check_a_chip_that_tells_its_id_later,
        check_a_restart_forgets_what_is_gone,
        check_who_holds_a_device,
        check_holders_that_are_not_told,
        check_the_tree_moves,
        check_refusals,
        check_a_read_that_blocks_delays_no_memory,
        check_a_list_of_holders_that_blocks,
    )))
