# SPDX-License-Identifier: Apache-2.0
"""Filesystems without room, and who fills them; mounting needs root."""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess

import serve
from serve import MIB


def works(*command):
    return shutil.which(command[0]) and subprocess.run(
        command, capture_output=True, check=False).returncode == 0


class Crowd:
    """Many processes that hold something."""

    def __init__(self, place, *options):
        self.process = place.popen(
            [place.programs.load, '--dir', place.base, '--pattern', 'hold',
             '--hold', '--json', '-', *options], stdin=subprocess.PIPE,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.truth = json.loads(self.process.stdout.readline())
        serve.expect('ready', self.process.stdout.readline(), 'ready\n')

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        serve.expect('status', self.process.wait(serve.PATIENCE_S), 0)


def mounts_are_private():
    """What this process mounts goes away with it, however it ends."""
    newns = 0x20000
    if ctypes.CDLL(None).unshare(newns) < 0:
        serve.fail('no mount namespace')
    subprocess.run(['mount', '--make-rprivate', '/'], check=True)


@contextlib.contextmanager
def small_filesystem(place, size, inodes=0):
    """The base is on a filesystem of its own; 0 inodes: any number."""
    mounts_are_private()
    subprocess.run(['mount', '-t', 'tmpfs', '-o',
                    f'size={size},nr_inodes={inodes},mode=1777',
                    'ttmem-test', place.base], check=True)
    try:
        yield
    finally:
        for process in place.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        subprocess.run(['umount', '--lazy', place.base], check=True)


class Ballast:
    """Takes all the room that there is."""

    def __init__(self, place):
        self.path = f'{place.base}/ballast'
        self.fill()

    def fill(self):
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        chunk = MIB
        while chunk >= 1024:
            try:
                if os.write(fd, bytes(chunk)) < chunk:
                    chunk //= 2
            except OSError:
                chunk //= 2
        os.close(fd)

    def drop(self):
        os.unlink(self.path)
