#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_death.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Processes end: killed, by themselves, with something left or not, with ttmemd there
or not. Each is retired once, and what it left is listed until somebody has seen it.
"""

import glob
import os
import signal
import statistics
import sys
import time

import serve
from serve import KIB, MIB

# Something of each kind, in and out of scopes, and what comes with it.
LEAVES = '''
    open 0 board=n300 index=0
    open 1 board=n300 index=1
    push "op ttnn.conv2d"
    alloc 0 dram 0x11 0x1000 1M
    alloc 1 l1 0x12 0x100000 64K
    pop
    push "program cache" persistent
    alloc 1 trace 0x13 0x2000 2M
    pop
    alloc 0 l1_small 0x14 0x3000 1K
    cb 0 7 2 0x19000 4K 64
    kernel 1 7 application 10K 10
    kernel 0 8 dispatch 46K 2
    alloc 0 dram 0x15 0x4000 5M
    free 0 dram 0x15
    failed 1 l1 3M 4096
    mark "half time"
    sync
    '''
# figure: id, bytes, scope, logical id of the device, class
LEFT = {
    'dram': ('0x11', MIB, 'op ttnn.conv2d', 0, 'orphaned'),
    'l1': ('0x12', 64 * KIB, 'op ttnn.conv2d', 1, 'orphaned'),
    'trace': ('0x13', 2 * MIB, 'program cache', 1, 'persistent'),
    'l1_small': ('0x14', KIB, None, 0, 'orphaned'),
    'cb': ('0x2', 256 * KIB, None, 0, 'orphaned'),
    'kernel_application': ('0x7', 100 * KIB, None, 1, 'orphaned'),
    'kernel_dispatch': ('0x8', 92 * KIB, None, 0, 'persistent'),
}


def segments(place):
    return glob.glob(f'{place.base}/ttmem-*/p.*')


def is_retired(snapshot, pid, state, objects):
    process = snapshot.process(pid)
    serve.expect('state', process['state'], state)
    serve.expect('objects', process['objects'], objects)
    if process['retired_ns'] is None:
        serve.fail('it is not said when')


def left_by(snapshot, pid):
    """What the process left, as LEFT has it."""
    return {o['figure']: (o['id'], o['bytes'], o['scope'],
                          int(snapshot['places'][o['place']]['label']),
                          o['leak_class'])
            for o in snapshot.of_process('objects', pid)}


def has_left(snapshot, pid, state='died'):
    is_retired(snapshot, pid, state, len(LEFT))
    serve.expect('survivors', left_by(snapshot, pid), LEFT)
    rows = snapshot.of_process('objects', pid)
    serve.expect('rows', len(rows), len(LEFT))
    serve.expect('all orphaned', {o['orphaned'] for o in rows}, {True})
    mark, = snapshot.of_process('marks', pid)
    serve.expect('mark', mark['text'], 'half time')
    failure, = snapshot.of_process('failures', pid)
    serve.expect('failure', [failure[k] for k in (
        'figure', 'bytes', 'largest_free_per_bank')], ['l1', 3 * MIB, 4096])
    serve.expect('where', snapshot['places'][failure['place']]['label'], '1')
    for device in snapshot['devices']:
        serve.expect('use', [device[k] for k in (
            'dram_use', 'l1_use', 'processes')], [0, 0, 0])


def retired_in_all(snapshot):
    return sum(d['retired'] for d in snapshot['directories'])


def kill(load):
    """kill -9 from outside; returns when. ttmem-load is told, and says so."""
    now_ns = time.monotonic_ns()
    os.kill(load.pid, signal.SIGKILL)
    return now_ns


# -- killed -------------------------------------------------------------------


def check_killed_with_survivors(place):
    place.serve()
    load = place.run(LEAVES)
    place.settled('before', load, look=lambda s: serve.expect(
        'running', s.process(load.pid)['state'], 'reporting'))
    kill(load)
    place.settled('after', load, options=('--objects',),
                  look=lambda s: has_left(s, load.pid))
    serve.wait_for('segments', lambda: serve.expect(
        'segments', segments(place), []))


def check_killed_before_it_was_noticed(place):
    """All within a moment: nothing of it is lost."""
    place.serve()
    load = serve.Load(place, LEAVES.replace('sync', 'kill'))
    load.to_sync()
    place.settled('after', load, options=('--objects',),
                  look=lambda s: has_left(s, load.pid))


def check_time_from_kill_to_visible(place):
    """Reported; the bound is for machines that do something else."""
    place.serve()
    visible, retired = [], []
    for _ in range(10):
        load = place.run(LEAVES)
        place.sees('before', lambda s: s.process(load.pid))
        killed_ns = kill(load)
        snapshot = place.sees(
            'death', lambda s: has_left(s, load.pid), '--objects', seconds=10)
        visible.append((snapshot['info']['taken_ns'] - killed_ns) / 1e6)
        retired.append((snapshot.process(load.pid)['retired_ns'] -
                        killed_ns) / 1e6)
    for what, times in (('seen by a reader', visible), ('retired', retired)):
        print(f'    from kill to {what}: {statistics.median(times):.1f} ms'
              f' (median of {len(times)}), {max(times):.1f} ms at most')
    if max(visible) > 10000:
        serve.fail('more than 10 s')


def check_killed_among_others(place):
    """Those that live keep what they have."""
    place.serve()
    loads = [place.run(f'''
        open 0 chip=0xa
        alloc 0 dram 1 0x1000 {size}M
        sync
        free 0 dram 1
        sync
        ''') for size in (1, 2, 4)]
    place.settled('three', *loads, look=lambda s: serve.shows(
        s.device(chip_id='0xa'), {'dram': (7 * MIB, 3), 'processes': 3}))
    kill(loads[1])
    place.settled('two', *loads, look=lambda s: serve.shows(
        s.device(chip_id='0xa'), {'dram': (5 * MIB, 2), 'processes': 2,
                                  'dram.orphaned': (2 * MIB, 1)}))
    for load in (loads[0], loads[2]):
        load.go()
    place.settled('none', *loads, look=lambda s: serve.shows(
        s.device(chip_id='0xa'), {'dram.orphaned': (2 * MIB, 1)}))


def check_zombie_is_dead(place):
    """Its parent does not wait for it for the time being."""
    place.serve()
    load = place.run('''
        fork
          alloc 0 dram 1 0x1000 1M
          kill
        end
        sync
        wait
        ''')

    def look(snapshot):
        pid = load.truth['processes'][1]['pid']
        is_retired(snapshot, pid, 'died', 1)
        with open(f'/proc/{pid}/stat', encoding='utf-8') as stat:
            serve.expect('zombie', stat.read().rsplit(')', 1)[1].split()[0],
                         'Z')
    place.sees('zombie', look)
    load.end()


# -- ended by themselves ------------------------------------------------------


def check_clean_exit_without_leaks(place):
    place.serve()
    load = place.run('''
        open 0 chip=0xa
        alloc 0 dram 1 0x1000 1M
        mark "done"
        sync
        free 0 dram 1
        close 0
        ''')
    load.end()

    def look(snapshot):
        is_retired(snapshot, load.pid, 'exited', 0)
        serve.shows(snapshot.device(chip_id='0xa'), {
            'dram.alloc_bytes': MIB, 'dram.free_bytes': MIB, 'processes': 0})
        mark, = snapshot.of_process('marks', load.pid)
        serve.expect('mark', mark['text'], 'done')
    place.settled('exit', load, look=look)
    serve.wait_for('segments', lambda: serve.expect(
        'segments', segments(place), []))


def check_clean_exit_with_leaks(place):
    place.serve()
    load = place.run(LEAVES)
    load.end()
    place.settled('exit', load, options=('--objects',),
                  look=lambda s: has_left(s, load.pid, 'exited'))


def check_exit_status_does_not_matter(place):
    place.serve()
    load = serve.Load(place, 'alloc 0 dram 1 0x1000 1M\nexit 7\n')
    load.to_sync()
    place.settled('exit', load,
                  look=lambda s: is_retired(s, load.pid, 'exited', 1))


def check_ends_by_other_signals(place):
    place.serve()
    loads = []
    for sign in ('term', 'abort', 'segv'):
        load = serve.Load(place, f'alloc 0 dram 1 0x1000 1M\nkill {sign}\n')
        load.to_sync()
        loads.append(load)

    def look(snapshot):
        for load in loads:
            is_retired(snapshot, load.pid, 'died', 1)
    place.settled('all', *loads, look=look)


def check_forked_children(place):
    """Each has objects of its own, and none of its parent's."""
    place.serve()
    load = place.run('''
        open 0 chip=0xa
        alloc 0 dram 1 0x1000 1M
        fork
          alloc 0 dram 2 0x1000 2M
          fork
            alloc 0 dram 3 0x1000 4M
            kill
          end
          wait
          exit
        end
        fork
          alloc 0 dram 4 0x1000 8M
          free 0 dram 4
        end
        fork
          free 0 dram 1         # not its own: it makes no segment for that
        end
        wait
        sync
        free 0 dram 1
        ''')

    def ends(snapshot):
        return sorted((p['state'], p['objects'])
                      for p in snapshot['processes'])

    def before(snapshot):
        serve.expect('processes', ends(snapshot), [
            ('died', 1), ('exited', 0), ('exited', 1), ('reporting', 1)])
    place.settled('children', load, look=before)
    load.end()
    place.settled('all', load, look=lambda s: serve.expect(
        'processes', ends(s), [('died', 1), ('exited', 0), ('exited', 0),
                               ('exited', 1)]))


# -- stopped, and running on --------------------------------------------------


def check_stop_with_survivors_and_running_on(place):
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('one', lambda s: serve.expect(
        'objects', s.process(calls.pid)['objects'], 1))
    calls('stop')

    def stopped(snapshot):
        process = snapshot.process(calls.pid)
        if process['state'] not in ('ended', 'exited'):
            serve.fail(f'state: {process["state"]}')
        serve.expect('objects', process['objects'], 1)
    place.sees('stopped', stopped)
    calls('alloc 2 2000')  # nothing: it is off
    calls('start')
    calls('alloc 3 4000')

    def again(snapshot):
        states = sorted((p['state'], p['objects'])
                        for p in snapshot.all('processes', pid=calls.pid))
        serve.expect('segments of it', states,
                     [('exited', 1), ('reporting', 1)])
        device, = snapshot['devices']
        serve.shows(device, {'dram': (4000, 1), 'dram.orphaned': (1000, 1)})
    place.sees('again', again)
    calls.end()
    place.sees('gone', lambda s: serve.expect(
        'states', sorted((p['state'], p['objects'])
                         for p in s.all('processes', pid=calls.pid)),
        [('exited', 1), ('exited', 1)]))


def check_stop_without_survivors(place):
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    calls('free 1')
    calls('stop')
    place.sees('stopped', lambda s: is_retired(s, calls.pid, 'exited', 0))
    serve.expect('it runs', calls.process.poll(), None)
    serve.wait_for('segments', lambda: serve.expect(
        'segments', segments(place), []))
    calls.end()


def check_exec_ends_what_was_before(place):
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('one', lambda s: serve.expect(
        'objects', s.process(calls.pid)['objects'], 1))
    calls('exec')

    def look(snapshot):
        process = snapshot.process(calls.pid)
        if process['state'] not in ('died', 'exited'):
            serve.fail(f'state: {process["state"]}')
        serve.expect('objects', process['objects'], 1)
    place.sees('exec', look)
    serve.expect('it runs', calls.process.poll(), None)
    calls('alloc 2 2000')
    place.sees('again', lambda s: serve.expect(
        'states', len(s.all('processes', pid=calls.pid, state='reporting')),
        1))
    calls.end()


# -- ttmemd itself ------------------------------------------------------------


def after_restart(place, end):
    """What was retired before stays, and is counted once."""
    server = place.serve()
    gone = place.run(LEAVES)
    stays = place.run('open 0 board=n300 index=0\nalloc 0 dram 1 0x1000 3M\n'
                      'sync\nalloc 0 dram 2 0x1000 1M\nsync\n')
    kill(gone)

    def look(snapshot):
        is_retired(snapshot, gone.pid, 'died', len(LEFT))
        serve.expect('survivors', left_by(snapshot, gone.pid), LEFT)
        serve.expect('marks', len(snapshot.of_process('marks', gone.pid)), 1)
        serve.expect('failures',
                     len(snapshot.of_process('failures', gone.pid)), 1)
        serve.expect('retired', retired_in_all(snapshot), 1)
        serve.expect('running', snapshot.process(stays.pid)['state'],
                     'reporting')
    before = place.settled('before', gone, stays, look=look,
                           options=('--objects',))
    for _ in range(3):
        end(server)
        server = place.serve()
        after = place.settled('after', gone, stays, look=look,
                              options=('--objects',))
        if after['info']['publication'] <= before['info']['publication']:
            serve.fail('publications count backwards')
        before = after
    stays.go()
    place.settled('goes on', gone, stays, look=look, options=('--objects',))


def check_restart_after_sigterm_keeps_survivors(place):
    after_restart(place, lambda server: serve.expect(
        'status', server.stop(), 0))


def check_restart_after_kill_keeps_survivors(place):
    after_restart(place, lambda server: serve.expect(
        'status', server.stop(signal.SIGKILL), -signal.SIGKILL))


def check_died_while_ttmemd_was_away(place):
    server = place.serve()
    loads = [place.run(LEAVES) for _ in range(2)]
    place.settled('before', *loads)
    server.stop()
    kill(loads[0])
    loads[1].end()
    serve.expect('segments', len(segments(place)), 2)
    place.serve()

    def look(snapshot):
        for load, state in zip(loads, ('died', 'exited')):
            is_retired(snapshot, load.pid, state, len(LEFT))
            serve.expect('survivors', left_by(snapshot, load.pid), LEFT)
        serve.expect('retired', retired_in_all(snapshot), 2)
    place.settled('after', *loads, look=look, options=('--objects',))
    serve.wait_for('segments', lambda: serve.expect(
        'segments', segments(place), []))


def check_died_before_the_first_ttmemd(place):
    load = place.run(LEAVES)
    kill(load)
    load.wait(1)
    clean = serve.Load(place, 'alloc 0 dram 1 0 1\nfree 0 dram 1\n')
    clean.to_sync()
    clean.wait()
    serve.expect('segments', len(segments(place)), 1)
    place.serve()
    place.settled('after', load, options=('--objects',),
                  look=lambda s: has_left(s, load.pid))


def check_retired_once(place):
    """By uuid, over restarts in between."""
    pids = []
    for end in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        server = place.serve()
        loads = [place.run('alloc 0 dram 1 0x1000 1M\nsync\n')
                 for _ in range(3)]
        for load in loads:
            pids.append(load.pid)
            kill(load)
        server.stop(end)
    place.serve()

    def look(snapshot):
        serve.expect('processes', serve.pids_of(snapshot), sorted(pids))
        serve.expect('uuids', len({p['uuid'] for p in snapshot['processes']}),
                     len(pids))
        serve.expect('objects', len(snapshot['objects']), len(pids))
        serve.expect('retired', retired_in_all(snapshot), len(pids))
        device, = snapshot['devices']
        serve.shows(device, {'dram.orphaned': (len(pids) * MIB, len(pids)),
                             'dram.alloc_objects': len(pids)})
    place.sees('all', look, '--objects')
    serve.expect('segments', segments(place), [])


def check_retired_removed_while_ttmemd_runs(place):
    """Its owner tidied up: whoever ends from then on is known to the next one."""
    server = place.serve()
    path = f'{place.base}/ttmem-{os.getuid()}/retired'
    before = place.run(LEAVES)
    kill(before)
    place.settled('before', before, options=('--objects',),
                  look=lambda s: has_left(s, before.pid))
    os.unlink(path)
    load = place.run(LEAVES)
    kill(load)

    def look(snapshot):
        has_left(snapshot, load.pid)
        serve.expect('retired', retired_in_all(snapshot), 1)
        serve.expect('errors', snapshot['health']['retire_errors'], 0)
    place.settled('in the new file', load, options=('--objects',), look=look)
    serve.wait_for('segments', lambda: serve.expect(
        'segments', segments(place), []))
    server.stop(signal.SIGKILL)
    place.serve()
    place.settled('after', load, options=('--objects',), look=look)
    serve.expect('said', 'cannot retire' in server.said(), False)


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
