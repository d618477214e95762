# SPDX-License-Identifier: Apache-2.0
"""ttmem from Python, through ctypes: hooks, this process's figures, the reader, and a
leak check around a function.

    import ttmem

    with ttmem.leak_check(devices=[0]):
        run_model()

Libraries are libttmem.so.0 and libttmem-reader.so.0 where the loader finds them, or in
the folder that TTMEM_LIBRARY_DIR names. Hooks do nothing without TTMEM_ENABLED=1.
"""

import contextlib
import ctypes
import enum
import errno
import functools
import gc
import json
import os
import time

# -- the libraries ------------------------------------------------------------------

U32, U64, SIZE = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
TEXT, POINTER = ctypes.c_char_p, ctypes.c_void_p
# Every name of <ttmem/ttmem.h> that is used here: result, arguments.
HOOKS = {
    'ttmem_alloc': (None, U32, ctypes.c_int, U64, U64, U64),
    'ttmem_buffer_alloc': (None, POINTER),
    'ttmem_alloc_failed': (None, POINTER),
    'ttmem_core_set': (U32, POINTER, SIZE),
    'ttmem_mesh_open': (U32, POINTER, SIZE),
    'ttmem_mesh_close': (None, U32),
    'ttmem_free': (None, U32, ctypes.c_int, U64),
    'ttmem_scope_push': (U32, TEXT, U32),
    'ttmem_scope_pop_to': (None, U32),
    'ttmem_mark': (None, TEXT),
    'ttmem_device_close': (None, U32),
    'ttmem_usage': (ctypes.c_int, U32, POINTER),
    'ttmem_status': (ctypes.c_int, POINTER),
    'ttmem_peak_reset': (None, U32),
}
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, SIZE)
READER = {
    'ttmem_reader_open': (ctypes.c_int, POINTER, POINTER),
    'ttmem_reader_close': (None, POINTER),
    'ttmem_reader_snapshot': (ctypes.c_int, POINTER, U32, POINTER),
    'ttmem_snapshot_free': (None, POINTER),
    'ttmem_snapshot_write': (ctypes.c_int, POINTER, WRITE, POINTER),
}
SNAPSHOT_OBJECTS = 1
SCOPE_PERSISTENT = 1
UNKNOWN = 2 ** 64 - 1


@functools.lru_cache(maxsize=None)
def _library(name):
    folder = os.environ.get('TTMEM_LIBRARY_DIR')
    file = f'{name}.so.0'
    library = ctypes.CDLL(os.path.join(folder, file) if folder else file)
    for function, types in (HOOKS if name == 'libttmem' else READER).items():
        getattr(library, function).restype = types[0]
        getattr(library, function).argtypes = types[1:]
    return library


def _hooks():
    return _library('libttmem')


class Kind(enum.IntEnum):
    """enum ttmem_kind: the runtime's numbers."""
    DRAM = 0
    L1 = 1
    SYSTEM_MEMORY = 2
    L1_SMALL = 3
    TRACE = 4


FIGURES = ('dram', 'l1', 'system_memory', 'l1_small', 'trace', 'cb',
           'kernel_application', 'kernel_fabric', 'kernel_dispatch')
BUFFERS = FIGURES[:5]


class Figure(ctypes.Structure):
    """struct ttmem_usage_figure"""
    _fields_ = [('live_bytes', U64), ('live_objects', U64),
                ('peak_bytes', U64)]


class Usage(ctypes.Structure):
    """struct ttmem_usage: the library refuses another size."""
    _fields_ = [('size', SIZE), ('figures', Figure * len(FIGURES))]


class Status(ctypes.Structure):
    """struct ttmem_status"""
    _fields_ = [('size', SIZE), ('state', U32), ('error', ctypes.c_int32),
                ('lost_events', U64 * 6), ('lost_bytes', U64 * 6),
                ('anomalies', U64 * 10), ('reason', ctypes.c_char * 128),
                ('segment', ctypes.c_char * 256)]


class CoreRange(ctypes.Structure):
    """struct ttmem_core_range: both corners are in it."""
    _fields_ = [('first_x', U32), ('first_y', U32), ('last_x', U32),
                ('last_y', U32)]


class Buffer(ctypes.Structure):
    """struct ttmem_buffer"""
    _fields_ = [('size', SIZE), ('device', U32), ('kind', U32), ('id', U64),
                ('address', U64), ('bytes', U64), ('bytes_per_bank', U64),
                ('banks', U32), ('cores', U32), ('flags', U32),
                ('reserved', U32)]


class Failure(ctypes.Structure):
    """struct ttmem_failure"""
    _fields_ = [('size', SIZE), ('device', U32), ('kind', U32),
                ('bytes', U64), ('bytes_per_bank', U64),
                ('free_per_bank', U64), ('largest_free_per_bank', U64),
                ('program', U64)]


class NotTracked(Exception):
    """There are no figures, and the text says why."""


def _checked(status, what):
    if status < 0:
        raise OSError(-status, f'{what}: {os.strerror(-status)}')


# -- hooks --------------------------------------------------------------------------


def alloc(device, kind, number, address, size):
    """After the allocator gave the memory."""
    _hooks().ttmem_alloc(device, kind, number, address, size)


def buffer_alloc(device, kind, number, address, size, *, bytes_per_bank=UNKNOWN,
                 banks=0, cores=0, flags=0):
    """The same with what the allocator reserved on each of its banks."""
    _hooks().ttmem_buffer_alloc(ctypes.byref(Buffer(
        ctypes.sizeof(Buffer), device, kind, number, address, size,
        bytes_per_bank, banks, cores, flags, 0)))


def alloc_failed(device, kind, size=UNKNOWN, *, bytes_per_bank=UNKNOWN,
                 free_per_bank=UNKNOWN, largest_free_per_bank=UNKNOWN,
                 program=UNKNOWN):
    """An allocation that did not succeed."""
    _hooks().ttmem_alloc_failed(ctypes.byref(Failure(
        ctypes.sizeof(Failure), device, kind, size, bytes_per_bank,
        free_per_bank, largest_free_per_bank, program)))


def core_set(*ranges):
    """A handle for (first_x, first_y, last_x, last_y), ...: a `cores` argument."""
    found = (CoreRange * len(ranges))(*ranges)
    return _hooks().ttmem_core_set(found, len(found))


@contextlib.contextmanager
def mesh(devices):
    """A handle for all of them: a buffer on it is one object."""
    found = (U32 * len(devices))(*devices)
    handle = _hooks().ttmem_mesh_open(found, len(found))
    try:
        yield handle
    finally:
        _hooks().ttmem_mesh_close(handle)


def free(device, kind, number):
    """Before the memory goes back."""
    _hooks().ttmem_free(device, kind, number)


def mark(text):
    """A point in time with a name, for reports."""
    _hooks().ttmem_mark(text.encode())


@contextlib.contextmanager
def scope(name, persistent=False):
    """Names what this thread allocates inside, also if an exception leaves it."""
    depth = _hooks().ttmem_scope_push(
        name.encode(), SCOPE_PERSISTENT if persistent else 0)
    try:
        yield
    finally:
        _hooks().ttmem_scope_pop_to(depth)


# -- this process's figures ---------------------------------------------------------


def status():
    """Whether this process is tracked, and if not, why."""
    found = Status(size=ctypes.sizeof(Status))
    _checked(_hooks().ttmem_status(ctypes.byref(found)), 'ttmem_status')
    return found


def is_enabled():
    """Whether tracking was asked for; status() tells whether it is possible."""
    return status().state != 0


def usage(device=0):
    """{figure: Figure} of this process, exact; of a device it never named: zeros."""
    found = Usage(size=ctypes.sizeof(Usage))
    result = _hooks().ttmem_usage(device, ctypes.byref(found))
    if result == -errno.ENODATA and status().state != 1:
        raise NotTracked(status().reason.decode() or
                         'tracking is off: set TTMEM_ENABLED=1')
    if result not in (-errno.ENODATA, -errno.ENODEV):
        _checked(result, 'ttmem_usage')
    return dict(zip(FIGURES, found.figures))


# -- what ttmemd knows --------------------------------------------------------------


class Reader:
    """The aggregate of the ttmemd that serves this user; use it with `with`."""

    def __init__(self):
        self._library = _library('libttmem-reader')
        self._reader = POINTER()
        _checked(self._library.ttmem_reader_open(
            None, ctypes.byref(self._reader)), 'ttmem_reader_open')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._library.ttmem_reader_close(ctypes.byref(self._reader))

    def snapshot(self, objects=False):
        """The document of `ttmem-dump report --format json`; ids are hexadecimal."""
        snapshot = POINTER()
        result = self._library.ttmem_reader_snapshot(
            self._reader, SNAPSHOT_OBJECTS if objects else 0,
            ctypes.byref(snapshot))
        if result == -errno.ENODATA:
            raise NotTracked('no ttmemd serves this user')
        _checked(result, 'ttmem_reader_snapshot')
        parts = []

        def write(_, text, size):
            parts.append(ctypes.string_at(text, size))
            return 0
        try:
            _checked(self._library.ttmem_snapshot_write(
                snapshot, WRITE(write), None), 'ttmem_snapshot_write')
        finally:
            self._library.ttmem_snapshot_free(ctypes.byref(snapshot))
        return json.loads(b''.join(parts))


def own_objects(snapshot, device, figure):
    """This process's live objects of one figure on a device, oldest first."""
    own = {at for at, row in enumerate(snapshot['shares'])
           if row['logical'] == device and
           snapshot['processes'][row['process']]['pid'] == os.getpid()}
    here = {at for at, row in enumerate(snapshot['places'])
            if own.intersection(row['usages'])}
    return sorted((o for o in snapshot['objects']
                   if o['place'] in here and o['figure'] == figure and
                   not o['orphaned']),
                  key=lambda o: o['allocated_ns'] or 0)


# -- the leak check -----------------------------------------------------------------


class Leak(AssertionError):
    """Something that was allocated inside is still there."""


def _grown(before, after, figures):
    """{(device, figure): (bytes, objects)} that came and stayed."""
    grown = {}
    for device, now in after.items():
        for figure in figures:
            objects = now[figure].live_objects - \
                before[device][figure].live_objects
            size = now[figure].live_bytes - before[device][figure].live_bytes
            if objects > 0 or size > 0:
                grown[device, figure] = (size, objects)
    return grown


def _listed(grown, after, patience_s):
    """The objects behind a leak, the newest of their figures, once ttmemd has seen
    all of them; none if that takes too long."""
    end = time.monotonic() + patience_s
    with Reader() as reader:
        while time.monotonic() < end:
            snapshot = reader.snapshot(objects=True)
            live = {at: own_objects(snapshot, *at) for at in grown}
            if all(len(found) == after[device][figure].live_objects
                   for (device, figure), found in live.items()):
                return [o for at, found in sorted(live.items())
                        for o in found[-grown[at][1]:] if grown[at][1] > 0]
            time.sleep(0.01)
    return []


def _described(grown, objects):
    lines = [f'device {device}: {figure}: {size:+d} bytes, '
             f'{count:+d} objects'
             for (device, figure), (size, count) in sorted(grown.items())]
    lines += [f'  {o["figure"]} {o["id"]}: {o["bytes"]} bytes'
              f', {o["scope"] or "no scope"}' for o in objects]
    return '\n'.join(lines)


@contextlib.contextmanager
def leak_check(devices=(0,), figures=BUFFERS, patience_s=5):
    """Fails with Leak if more is live after the block, or the function that it
    decorates, than before: by the process's own exact figures. Which objects, and
    whose, is told if a ttmemd runs. What is meant to stay belongs into a warm-up
    before it. An exception of the block goes first."""
    before = {device: usage(device) for device in devices}
    yield
    gc.collect()  # what only a cycle holds is no leak
    after = {device: usage(device) for device in devices}
    grown = _grown(before, after, figures)
    if not grown:
        return
    objects = []
    with contextlib.suppress(NotTracked, OSError):
        objects = _listed(grown, after, patience_s)
    raise Leak('left on the devices:\n' + _described(grown, objects))
