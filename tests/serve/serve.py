# SPDX-License-Identifier: Apache-2.0
"""ttmemd, the processes that it serves and a reader, in a place of their own.

What is said is said by real processes: ttmem-load runs a script and stops at each
`sync`, ttmemd publishes, snapdump prints what the reader library sees. Nobody sleeps
and hopes: a test waits for what it expects to see, and says what it saw instead if
that does not come.
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KIB = 1 << 10
MIB = 1 << 20
FIGURES = ('dram', 'l1', 'system_memory', 'l1_small', 'trace', 'cb',
           'kernel_application', 'kernel_fabric', 'kernel_dispatch')
KERNELS = FIGURES[6:]
# What ttmem-load says, and what the reader calls it.
FLOWS = {'live_objects': 'live_objects', 'live_bytes': 'live_bytes',
         'orphan_objects': 'orphaned_objects', 'orphan_bytes': 'orphaned_bytes',
         'alloc_objects': 'alloc_objects', 'alloc_bytes': 'alloc_bytes',
         'free_objects': 'free_objects', 'free_bytes': 'free_bytes',
         'live_requested': 'requested_bytes'}
# Generous: it is for a machine that is busy, and for sanitizers.
PATIENCE_S = 20
PAUSE_S = 0.005


class Failed(Exception):
    """What a check found wrong."""


def fail(text):
    raise Failed(text)


def expect(what, found, wanted):
    if found != wanted:
        fail(f'{what}: {found!r} and not {wanted!r}')


def pids_of(snapshot):
    """Sorted. A process that was dead when ttmemd came has none for a moment."""
    return sorted(p['pid'] or 0 for p in snapshot['processes'])


def nameless(snapshot, state, objects):
    """The only process: ttmemd cannot confirm its pid, and publishes none."""
    expect('processes', len(snapshot['processes']), 1)
    process = snapshot['processes'][0]
    expect('the process', (process['state'], process['objects']),
           (state, objects))
    expect('what could be signalled', [process[key] for key in (
        'pid', 'pid_namespace', 'start_time')], [None] * 3)


def wait_for(what, attempt, seconds=PATIENCE_S, pause=PAUSE_S):
    """Repeats `attempt` until it raises no error; returns what it returns.

    A row that is not there yet is an IndexError or a ValueError of an unpacking, and
    a value that is not known yet a TypeError: these are tried again, too.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (Failed, LookupError, TypeError, ValueError) as error:
            if time.monotonic() > end:
                kind = '' if isinstance(error, Failed) else \
                    f'{type(error).__name__}: '
                fail(f'{what}: not within {seconds} s: {kind}{error}')
        time.sleep(pause)


# -- what the reader sees -----------------------------------------------------


class Snapshot(dict):
    """One document of the reader library."""

    def one(self, table, **like):
        """The only row with these fields."""
        rows = self.all(table, **like)
        if len(rows) != 1:
            fail(f'{len(rows)} {table} like {like} in {self.brief(table)}')
        return rows[0]

    def all(self, table, **like):
        return [r for r in self[table]
                if all(r[k] == v for k, v in like.items())]

    def device(self, **like):
        return self.one('devices', **like)

    def process(self, pid):
        return self.one('processes', pid=pid)

    def of_process(self, table, pid):
        """The rows of a table that belong to the process."""
        at = self['processes'].index(self.process(pid))
        return self.all(table, process=at)

    def brief(self, table):
        keys = {'devices': ('identity', 'chip_id', 'pci_address', 'logical'),
                'processes': ('pid', 'state', 'objects'),
                'directories': ('path', 'state', 'uid', 'holder')}
        return [{k: r[k] for k in keys.get(table, r)} for r in self[table]]


def figures_of(row):
    """{figure: {flow: value}} in the words of ttmem-load."""
    return {f: {n: row['figures'][f][r] for n, r in FLOWS.items()}
            for f in FIGURES}


def same_row(what, row, truth):
    expect(f'{what}: figures', changes(figures_of(row), truth['figures']), {})
    expect(f'{what}: dispatches', row['dispatches'],
           {f'kernel_{k}': v for k, v in truth['dispatches'].items()})
    expect(f'{what}: failures', row['failures'], truth['failures'])


def changes(found, wanted):
    """{figure.flow: (found, wanted)} where they differ."""
    return {f'{f}.{n}': (found[f][n], wanted[f][n])
            for f in wanted for n in FLOWS if found[f][n] != wanted[f][n]}


def same(snapshot, *truths):
    """The snapshot says what the loads have done, and nothing else."""
    total = collections.Counter()
    for truth in truths:
        for process in truth['processes']:
            if process['events']:
                total.update(same_process(snapshot, process))
    found = collections.Counter()
    for device in snapshot['devices']:
        found.update(flat(figures_of(device)))
    expect('all devices together', +found, +total)


def flat(figures):
    return collections.Counter({f'{f}.{n}': flows[n]
                                for f, flows in figures.items() for n in FLOWS})


def same_process(snapshot, process):
    """Its rows are right; returns what it adds to the sums."""
    if not +flat(process['figures']) and \
            not snapshot.all('processes', pid=process['pid']):
        return {}  # a free alone makes no segment
    row = snapshot.process(process['pid'])
    expect(f'anomalies of {row["pid"]}', row['anomalies'],
           process['anomalies'])
    is_gone = row['state'] in ('exited', 'died')
    for device in process['devices']:
        name = f'device {device["logical"]} of {row["pid"]}'
        share = share_of(snapshot, row, device)
        if share:
            same_row(name, share, ended(device) if is_gone else device)
        elif +flat(device['figures']):
            fail(f'no share for {name}, chip {device["chip_id"]}')
    return flat((ended(process) if is_gone else process)['figures'])


def share_of(snapshot, row, device):
    """The process may know less about a chip than others do."""
    chips = {}
    for share in snapshot.of_process('shares', row['pid']):
        if share['logical'] == device['logical']:
            chip_id = snapshot['devices'][share['device']]['chip_id']
            chips[chip_id and int(chip_id, 16)] = share
    if device['chip_id'] is None and None not in chips and len(chips) == 1:
        return list(chips.values())[0]
    return chips.get(device['chip_id'] and int(device['chip_id'], 16))


def ended(part):
    """Of a process that is gone: what was live is left behind."""
    figures = {}
    for name, flows in part['figures'].items():
        figures[name] = dict(
            flows, live_objects=0, live_bytes=0, live_requested=0,
            orphan_objects=flows['orphan_objects'] + flows['live_objects'],
            orphan_bytes=flows['orphan_bytes'] + flows['live_bytes'])
    return dict(part, figures=figures)


def value_of(row, key):
    """'l1_use', 'dispatches.kernel_fabric', 'cb' (bytes, objects), 'cb.orphaned'
    (the same), 'cb.alloc_bytes'."""
    name, _, rest = key.partition('.')
    if name not in FIGURES:
        return row[name][rest] if rest else row[name]
    sums = row['figures'][name]
    if rest in ('', 'orphaned'):
        kind = rest or 'live'
        return (sums[f'{kind}_bytes'], sums[f'{kind}_objects'])
    return sums[rest]


def shows(row, wanted):
    """The row has these values, and nothing live besides."""
    every = dict.fromkeys(FIGURES, (0, 0))
    every.update({f'{f}.orphaned': (0, 0) for f in FIGURES})
    every.update(wanted)
    wrong = {k: (value_of(row, k), v) for k, v in every.items()
             if value_of(row, k) != v}
    if wrong:
        fail('; '.join(f'{k} is {a} and not {b}' for k, (a, b) in
                       wrong.items()))


# -- processes ----------------------------------------------------------------


class Load:
    """A ttmem-load that runs a script, from sync to sync."""

    def __init__(self, place, script, user=None, prefix=()):
        self.truth = None
        self.at = None
        path = place.file('script', script)
        self.process = place.popen(
            [*prefix, place.programs.load, '--dir', place.base, '--script', path,
             '--json', '-'], user=user, stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def to_sync(self):
        """Waits for the next sync; returns what it has done so far."""
        line = self._read()
        if not line.startswith('{'):
            fail(f'ttmem-load says {line!r}')
        self.truth = json.loads(line)
        if self.truth['phase'] != 'end':
            self.at = self._read().rstrip('\n')
        return self.truth

    def _read(self):
        line = self.process.stdout.readline()
        return line or fail(f'ttmem-load ended: {self.process.wait()}')

    def go(self):
        """Lets it go on, and waits for the next sync or the end."""
        self.release()
        return self.to_sync()

    def release(self):
        self.process.stdin.write('go on\n')
        self.process.stdin.flush()

    def end(self):
        """Lets it run to its end from the last sync."""
        truth = self.go()
        expect('the end of a script', truth['phase'], 'end')
        self.wait()
        return truth

    def wait(self, status=0):
        expect('status of ttmem-load', self.process.wait(PATIENCE_S), status)

    @property
    def pid(self):
        """Of the process that runs the script; ttmem-load itself waits for it."""
        return self.truth['processes'][0]['pid']


class Server:
    """A ttmemd."""

    def __init__(self, place, options, user=None, prefix=()):
        self.place = place
        self.user = user
        self.out = place.file('events', '')
        self.err = place.file('log', '')
        with open(self.out, 'w', encoding='utf-8') as out, \
                open(self.err, 'w', encoding='utf-8') as err:
            self.process = place.popen(
                [*prefix, place.programs.ttmemd, '--dir', place.base,
                 *options], user=user, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err)
        self.pid = self.process.pid

    def lines(self):
        with open(self.out, encoding='utf-8') as out:
            return out.read().splitlines()

    def said(self):
        with open(self.err, encoding='utf-8',
                  errors='surrogateescape') as err:
            return err.read()

    def wait_ready(self):
        def attempt():
            if self.process.poll() is not None:
                fail(f'ttmemd ended: {self.process.returncode}: {self.said()}')
            snapshot = self.place.snapshot(user=self.user)
            expect('pid', snapshot['info']['pid'], self.pid)
            expect('source', snapshot['info']['source'], 'ok')
        wait_for('ttmemd publishes', attempt)
        return self

    def stop(self, sign=signal.SIGTERM):
        """Ends it; returns its status."""
        self.process.send_signal(sign)
        return self.process.wait(PATIENCE_S)


class Programs:
    """Where the programs are."""

    def __init__(self, *paths):
        self.ttmemd, self.load, self.snapdump, self.calls = \
            map(os.path.abspath, paths)

    def run_by(self, user):
        """Whether that user can run them."""
        try:
            for path in (self.ttmemd, self.load):
                subprocess.run([path, '--version'], user=user, group=user,
                               extra_groups=[], check=True, cwd='/',
                               capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def copied(self, folder):
        """The same below a folder, with the libraries where they look for them."""
        os.makedirs(f'{folder}/programs/all')
        libraries = os.path.join(os.path.dirname(self.load), '../../lib')
        shutil.copytree(libraries, f'{folder}/lib', symlinks=True,
                        ignore=lambda _, names: [n for n in names
                                                 if '.so' not in n or
                                                 n.endswith(('.p', '.symbols'))])
        return Programs(*(shutil.copy(path, f'{folder}/programs/all') for path
                          in (self.ttmemd, self.load, self.snapdump,
                              self.calls)))


class Place:
    """A base directory for one check; use it with `with`."""

    def __init__(self, programs, mode=0o700):
        self.programs = programs
        self.base = tempfile.mkdtemp(prefix='ttmem-test.', dir='/dev/shm')
        self.files = tempfile.mkdtemp(prefix='ttmem-test.')
        os.chmod(self.base, mode)
        os.chmod(self.files, 0o755)
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(self.base)
        shutil.rmtree(self.files)

    def file(self, kind, text):
        """A new file that everybody may read; returns its path."""
        fd, path = tempfile.mkstemp(prefix=f'{kind}.', dir=self.files)
        with open(fd, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def environment(self):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(('TTMEM_', 'TT_ALLOC_', 'NOTIFY_'))}
        env['TTMEM_DIR'] = self.base
        # Devices of the machine that it runs on are not meant.
        env['TTMEM_SYSFS_ROOT'] = env['TTMEM_PROC_ROOT'] = self.base
        return env

    def popen(self, command, user=None, **how):
        if user is not None:
            how.update(user=user, group=user, extra_groups=[])
        process = subprocess.Popen(command, env=self.environment(), cwd='/',
                                   **how)
        self.started.append(process)
        return process

    def serve(self, *options, mode='user', user=None):
        """Starts ttmemd and waits until it publishes."""
        return Server(self, ('--mode', mode, *options), user).wait_ready()

    def run(self, script, user=None, prefix=()):
        """Starts ttmem-load with a script and waits for its first sync."""
        load = Load(self, script, user, prefix)
        load.to_sync()
        return load

    def calls(self, prefix=(), user=None, **environment):
        return Calls(self, environment, prefix, user)

    def dump(self, *options, user=None):
        """snapdump: (status, stdout, stderr)."""
        how = {} if user is None else {
            'user': user, 'group': user, 'extra_groups': []}
        done = subprocess.run(
            [self.programs.snapdump, self.base, *options], text=True, cwd='/',
            capture_output=True, env=self.environment(), check=False,
            timeout=PATIENCE_S, **how)
        return done.returncode, done.stdout, done.stderr

    def snapshot(self, *options, user=None):
        status, text, error = self.dump(*options, user=user)
        if status or not text:
            fail(f'snapdump: status {status}: {error.strip()}')
        return Snapshot(json.loads(text))

    def sees(self, what, look, *options, user=None, seconds=PATIENCE_S):
        """Takes snapshots until `look` is content; returns the last one."""
        def attempt():
            snapshot = self.snapshot(*options, user=user)
            look(snapshot)
            return snapshot
        return wait_for(what, attempt, seconds)

    def settled(self, what, *loads, look=None, options=(), user=None):
        """Waits for a snapshot that says all that the loads have done."""
        def all_of(snapshot):
            same(snapshot, *(load.truth for load in loads))
            if look:
                look(snapshot)
        return self.sees(what, all_of, *options, user=user)


class Calls:
    """The program that makes the calls which a script cannot say."""

    def __init__(self, place, environment, prefix=(), user=None):
        self.process = place.popen(
            [*prefix, '/usr/bin/env', 'TTMEM_ENABLED=1',
             *(f'{k}={v}' for k, v in environment.items()),
             place.programs.calls], user=user, stdin=subprocess.PIPE,
            text=True, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __call__(self, line):
        self.tell(line)
        expect(f'after {line}', self.process.stdout.readline(), 'done\n')

    def tell(self, line):
        self.process.stdin.write(f'{line}\n')
        self.process.stdin.flush()

    def ask_pid(self):
        """Its pid as it sees itself, which may not be the pid here."""
        self.tell('pid')
        self.pid = int(self.process.stdout.readline().split()[1])
        return self.pid

    def end(self):
        self.process.stdin.close()
        expect('status', self.process.wait(PATIENCE_S), 0)


# -- running ------------------------------------------------------------------


def arguments(doc):
    if len(sys.argv) < 5:
        print(doc, end='')
        sys.exit(2)
    return Programs(*sys.argv[1:5]), sys.argv[5:]


def run_all(doc, checks, prepare=lambda programs: programs, mode=0o700):
    """Each check in a place of its own; all are run. Names as further arguments
    choose some."""
    programs, chosen = arguments(doc)
    programs = prepare(programs)
    failed = 0
    checks = [c for c in checks if not chosen or c.__name__ in chosen]
    for check in checks:
        name = check.__name__.removeprefix('check_').replace('_', ' ')
        begin = time.monotonic()
        try:
            with Place(programs, mode) as place:
                check(place)
        except (Failed, KeyError, ValueError, IndexError, OSError,
                subprocess.SubprocessError) as error:
            failed += 1
            print(f'FAIL: {name}: {type(error).__name__}: {error}', flush=True)
        else:
            print(f'ok: {name} ({time.monotonic() - begin:.2f} s)', flush=True)
    print(f'{len(checks) - failed} passed, {failed} failed')
    return 1 if failed or not checks else 0


def run_for_users(doc, checks, user):
    """The same for checks with other users, who may write in the place and need
    programs that they can run. Without root, in a place of one's own."""
    if os.getuid() != 0:
        return run_all(doc, checks)
    folder = tempfile.mkdtemp(prefix='ttmem-test.')
    os.chmod(folder, 0o755)
    try:
        return run_all(doc, checks, mode=0o1777, prepare=lambda programs:
                       programs if programs.run_by(user) else
                       programs.copied(folder))
    finally:
        shutil.rmtree(folder)
