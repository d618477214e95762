#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make_recording.py BUILD-DIR OUTPUT.json.gz

Makes four-devices.json.gz anew: what a real ttmemd says of real processes on four
devices that ttmem-load pretends to have, after some minutes. A server on all of them,
a training run, a small model, a test that was killed, and a process that holds the
devices and does not report.

Changed afterwards: paths of the moment, and the names of control groups, since
processes here are in none that is worth showing.
"""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS = 200
L1_BASE, L1_TOP, CORES = 0x19400, 0x17a000, 120
MIB = 1 << 20
GROUPS = {
    'llama-serve': '/system.slice/docker-3f9c1b7a0d52e6f4c8b9a1d2e3f40516'
                   '2738495a6b7c8d9e0f1a2b3c4d5e6f70.scope',
    'train-loop': '/user.slice/user-1000.slice/session-4.scope',
    'whisper': '/kubepods.slice/kubepods-burstable.slice/'
               'kubepods-burstable-pod7c1e.slice/cri-containerd-9ab1.scope',
    'pytest': '/user.slice/user-1000.slice/session-9.scope',
}


class Script:
    """Lines for ttmem-load."""

    def __init__(self, seed):
        self.lines = []
        self.random = random.Random(seed)
        self.ids = 100
        self.spent_ms = 0

    def add(self, *lines):
        self.lines += lines

    def sleep(self, milliseconds):
        self.spent_ms += milliseconds
        self.add(f'sleep {milliseconds}')

    def open(self, *devices):
        for device in devices:
            self.add(f'open {device} board=p150 index={device}')

    def device_init(self, on):
        self.add('push "device init" persistent',
                 f'kernel {on} 1 fabric 57344 16',
                 f'kernel {on} 2 dispatch 47104 2', 'pop')

    def alloc(self, on, kind, size, scope, address=0x1000):
        self.ids += 1
        self.add(f'push "{scope}"',
                 f'alloc {on} {kind} {self.ids} {address:#x} {size}', 'pop')
        return self.ids

    def operation(self, on, program, name, l1_bytes, pause_ms):
        """A program with its buffers, as long as it runs."""
        size = l1_bytes // CORES // 32 * 32
        buffer = self.alloc(on, 'l1', size * CORES, name, L1_TOP - size)
        cb_size = self.random.randrange(8, 28) * 2048
        self.add(f'push "{name}"',
                 f'kernel {on} {program} application '
                 f'{self.random.randrange(8, 24) * 1024} {CORES} ring')
        for cb in range(3):
            self.add(f'cb {on} {program} {cb} {L1_BASE + cb * cb_size:#x} '
                     f'{cb_size} {CORES}')
        self.add('pop')
        self.sleep(pause_ms)
        self.add(f'free {on} l1 {buffer}', f'destroy {on} {program}')

    def text(self):
        return '\n'.join(self.lines) + '\n'


def server():
    """Weights layer by layer, a cache, then token by token."""
    script = Script(1)
    script.open(0, 1, 2, 3)
    script.add('mesh m 0,1,2,3')
    script.device_init('m')
    for layer in range(40):
        for part in ('attention.wqkv', 'mlp.w1'):
            script.alloc('m', 'dram', 240 * MIB,
                         f'model.layers.{layer}.{part}')
        script.sleep(900)
    script.alloc('m', 'l1_small', 2 * MIB, 'conv halo', L1_TOP)
    for block in range(8):
        script.alloc('m', 'dram', 512 * MIB, f'kv_cache.{block}')
        script.sleep(500)
    script.alloc('m', 'trace', 48 * MIB, 'trace capture')
    script.add('mark "warm"')
    turn = 0
    while script.spent_ms < SECONDS * 1000:
        for name, size in (('ttnn.matmul', 56), ('ttnn.softmax', 24),
                           ('ttnn.layer_norm', 12), ('ttnn.linear', 84)):
            script.operation('m', 1000 + turn % 16, name, size * MIB, 180)
            turn += 1
        if turn % 160 == 0:
            script.alloc('m', 'dram', 256 * MIB, f'kv_cache.{turn}')
    return script.text()


def training():
    """Activations grow and go, step by step."""
    script = Script(2)
    script.open(2, 3)
    script.device_init(2)
    script.device_init(3)
    for device in (2, 3):
        script.alloc(device, 'dram', 2200 * MIB, 'parameters')
        script.alloc(device, 'dram', 1100 * MIB, 'optimizer.state')
    while script.spent_ms < SECONDS * 1000:
        held = []
        for layer in range(8):
            for device in (2, 3):
                held.append((device, script.alloc(
                    device, 'dram', (120 + 40 * layer) * MIB,
                    f'forward.layer{layer}')))
            script.operation(2, 500 + layer, 'ttnn.conv2d', 20 * MIB, 400)
        for device, buffer in reversed(held):
            script.add(f'free {device} dram {buffer}')
            script.sleep(120)
    return script.text()


def small():
    script = Script(3)
    script.open(1)
    script.device_init(1)
    script.alloc(1, 'dram', 1536 * MIB, 'encoder.weights')
    script.alloc(1, 'system_memory', 256 * MIB, 'audio staging')
    turn = 0
    while script.spent_ms < SECONDS * 1000:
        script.operation(1, 700 + turn % 4, 'ttnn.mel', 18 * MIB, 350)
        turn += 1
        if turn == 120:
            script.add('failed 1 l1 96M 41943040', 'free 1 dram 99999')
    return script.text()


def killed():
    script = Script(4)
    script.open(0)
    script.sleep(60000)
    for at in range(6):
        script.alloc(0, 'dram', 192 * MIB, f'test_resnet[batch{at}]')
        script.sleep(300)
    script.add('kill kill')
    return script.text()


def tidied(line, folder, base):
    line = line.replace(base, '/run/ttmem').replace(folder, '/opt/models')
    document = json.loads(line)
    document['info']['boot_id'] = '0' * 32
    for process in document['processes']:
        process['cgroup'] = GROUPS.get(process['comm'], process['cgroup'])
        process['cmdline'] = process['cmdline'][:1] + ['--config', 'prod.yaml']
    for holder in document['holders']:
        holder['cmdline'] = holder['cmdline'][:1]
    return json.dumps(document, separators=(',', ':'))


def record(build, folder, base):
    load = f'{build}/tools/ttmem-load/ttmem-load'
    env = {k: v for k, v in os.environ.items() if not k.startswith('TTMEM_')}
    env.update(TTMEM_DIR=base, TTMEM_SYSFS_ROOT=f'{folder}/sys',
               TTMEM_PROC_ROOT=f'{folder}/proc')
    started = []

    def start(*command):
        started.append(subprocess.Popen(command, env=env))

    def start_load(name, *words):
        os.symlink(load, f'{folder}/{name}')
        start(f'{folder}/{name}', '--quiet', *words)
    try:
        start_load('jupyter-lab', '--fake-sysfs', folder, '--board', 'p150',
                   '--devices', '4', '--seconds', str(SECONDS + 30))
        while not os.path.exists(f'{folder}/proc/driver/tenstorrent/3/pids'):
            time.sleep(0.1)
        start(f'{build}/tools/ttmemd/ttmemd', '--mode', 'user')
        for name, text in (('llama-serve', server()), ('pytest', killed()),
                           ('train-loop', training()), ('whisper', small())):
            with open(f'{folder}/{name}.txt', 'w', encoding='ascii') as file:
                file.write(text)
            start_load(name, '--script', f'{folder}/{name}.txt')
        time.sleep(SECONDS - 12)
        return subprocess.run(
            [f'{build}/tools/ttmem-dump/ttmem-dump', '--format', 'json',
             '--watch', '1', '--count', '2'], env=env, text=True, check=False,
            stdout=subprocess.PIPE).stdout.splitlines()
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def main():
    if len(sys.argv) != 3:
        print(__doc__, end='')
        return 2
    build = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix='ttmem-record.')
    base = tempfile.mkdtemp(prefix='ttmem-record.', dir='/dev/shm')
    try:
        lines = [tidied(line, folder, base)
                 for line in record(build, folder, base)]
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(base)
    with open(sys.argv[2], 'wb') as file:
        with gzip.GzipFile('', 'wb', 9, file, 0) as out:
            out.write(('\n'.join(lines) + '\n').encode())
    return 0


if __name__ == '__main__':
    sys.exit(main())
