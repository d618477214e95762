#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_downstream.py SOURCE-ROOT BUILD-ROOT

Other people's projects get ttmem in every way that there is, in C and in C++20, with
gcc and with clang; their programs run, and the installed ttmemd and ttmem-dump know
what they did. Nothing of ttmem gets into their flags or into what they install.
Below a TTMEM_TEST_SCALE of 100 only those that use what is installed: the others are
the same in every build.
"""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time

import staged
from staged import run
import serve

COMPILERS = {'gcc': 'g++', 'clang': 'clang++'}
STRICT = ('-Wall', '-Wextra', '-Werror', '-pedantic')
# What only ttmem itself is compiled with.
OURS = re.compile(r'_GNU_SOURCE|AO_PREFER|TTM_|-fvisibility|-fno-strict-overflow')
# What only ttmemd and the tools need.
TOOLS_NEED = re.compile(r'dependency (liburcu|jansson|hdr_histogram|ncurses|unity)'
                        r'\S* found')


class Downstream:
    """One project, one way, one compiler."""

    def __init__(self, how, compiler, installed, source):
        self.name = f'{how}, {compiler}'
        self.how = how
        self.installed = installed
        self.source = source
        self.folder = f'{installed.work}/{how}-{compiler}'
        self.build = f'{self.folder}/build'
        self.cc, self.cxx = compiler, COMPILERS[compiler]
        self.env = dict(os.environ, CC=self.cc, CXX=self.cxx)
        shutil.copytree(f'{source}/tests/install/downstream', self.folder)

    def make(self):
        """Builds it; returns its programs."""
        return {'meson': self.make_meson, 'pkg-config': self.make_plain}.get(
            self.how, self.make_cmake)()

    def built(self, *names):
        return [(f'{self.name}, {n}', f'{self.build}/{n}') for n in names]

    def make_cmake(self):
        run('cmake', '-S', self.folder, '-B', self.build, '-G', 'Ninja',
            f'-DHOW={self.how}', f'-DTTMEM_SOURCE={self.source}',
            f'-DCMAKE_PREFIX_PATH={self.installed.prefix}',
            '-DCMAKE_BUILD_TYPE=Release', env=self.env)
        run('cmake', '--build', self.build, '-j2')
        self.check_strangers(f'{self.build}/compile_commands.json',
                             'cmake', '--install', self.build)
        if self.how in ('subdirectory', 'fetch'):
            self.check_plug()
        return self.built('c', 'cxx20', 'plugged')

    def make_meson(self):
        os.mkdir(f'{self.folder}/subprojects')
        os.symlink(self.source, f'{self.folder}/subprojects/ttmem')
        # A project that wants all of its own parts wants none of ours.
        features = 'enabled' if self.cc == 'gcc' else 'auto'
        said = run('meson', 'setup', self.build, self.folder,
                   '--force-fallback-for=ttmem', '--buildtype=release',
                   f'-Dauto_features={features}', env=self.env)
        if TOOLS_NEED.search(said):
            serve.fail(f'looks for more than the library needs:\n{said}')
        run('ninja', '-C', self.build, '-j2')
        self.check_strangers(f'{self.build}/compile_commands.json',
                             'meson', 'install', '-C', self.build,
                             '--no-rebuild')
        self.check_plug()
        return self.built('c', 'cxx20', 'plugged')

    def make_plain(self):
        os.mkdir(self.build)
        env = dict(os.environ,
                   PKG_CONFIG_PATH=f'{self.installed.libdir}/pkgconfig')
        config = ('pkg-config',
                  f'--define-variable=prefix={self.installed.prefix}')
        flags = run(*config, '--cflags', '--libs', 'ttmem', env=env).split()
        static = [f if f != '-lttmem' else '-l:libttmem.a' for f in run(
            *config, '--cflags', '--libs', '--static', 'ttmem',
            env=env).split()]
        for name, command in {
                'c': (self.cc, '-std=c99', 'consumer.c', *flags),
                'c-static': (self.cc, '-std=c99', 'consumer.c', *static),
                'cxx20': (self.cxx, '-std=c++20', 'consumer20.cc', *flags),
        }.items():
            run(*command, *STRICT, '-o', f'{self.build}/{name}',
                cwd=self.folder)
        return self.built('c', 'c-static', 'cxx20')

    def check_strangers(self, commands, *install):
        """Nothing of ours in the flags of others, nor in what they install."""
        with open(commands, encoding='utf-8') as file:
            for entry in json.load(file):
                command = entry.get('command', '')
                if 'consumer' in entry['file'] and OURS.search(command):
                    serve.fail(f'{self.name}: {command}')
        there = f'{self.folder}/there'
        run(*install, env=dict(os.environ, DESTDIR=there))
        files = [os.path.join(at, name) for at, _, names in os.walk(there)
                 for name in names]
        serve.expect('what is installed', [os.path.basename(f) for f in files],
                     ['c'])

    def check_plug(self):
        """The archive is in the shared library, and shows what headers declare."""
        names = {line.split()[-1] for line in run(
            'nm', '-D', '--defined-only',
            f'{self.build}/libplug.so').splitlines()}
        if 'ttmem_alloc' not in names:
            serve.fail(f'{self.name}: libplug.so does not contain ttmem')
        wrong = [n for n in names if not re.match(r'ttmem_|consume$|_', n)]
        if wrong:
            serve.fail(f'{self.name}: libplug.so shows {wrong}')
        dynamic = run('readelf', '-dW', f'{self.build}/libplug.so')
        if 'NODELETE' not in dynamic:
            serve.fail(f'{self.name}: libplug.so can be unloaded')


def left(snapshot, pid):
    """ttmemd knows what consumer.c and its like leave behind."""
    process = snapshot.process(pid)
    serve.expect('state', process['state'], 'exited')
    share = snapshot.of_process('shares', pid)
    serve.expect('shares', len(share), 1)
    serve.shows(share[0], {
        'dram.orphaned': (8192, 1), 'dram.alloc_bytes': 12288,
        'dram.free_bytes': 4096, 'cb.orphaned': (131072, 1)})
    objects = {(o['figure'], o['id'], o['bytes'], o['leak_class'])
               for o in snapshot.of_process('objects', pid)}
    serve.expect('objects', objects, {('dram', '0x2', 8192, 'orphaned'),
                                      ('cb', '0x3', 131072, 'orphaned')})


def check_program(place, path):
    env = dict(place.environment(), TTMEM_ENABLED='1')
    process = subprocess.Popen([path], env=env, cwd='/')
    serve.expect('status', process.wait(60), 0)
    place.sees('what it left', lambda s: left(s, process.pid), seconds=60)


def main():
    if len(sys.argv) != 3:
        print(__doc__, end='')
        return 2
    source, build = map(os.path.abspath, sys.argv[1:])
    compilers = [c for c, cxx in COMPILERS.items()
                 if shutil.which(c) and shutil.which(cxx)]
    ways = ['pkg-config', 'package', 'static-package']
    if int(os.environ.get('TTMEM_TEST_SCALE', '100')) >= 100:
        ways += ['meson', 'subdirectory', 'fetch']
    wanted = len(ways) * len(COMPILERS)
    if not shutil.which('cmake'):
        ways = [w for w in ways if w in ('pkg-config', 'meson')]
    failed = checked = 0
    with staged.Staged(build) as installed, installed.place() as place, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        place.serve()
        # The long ones first.
        projects = [Downstream(how, compiler, installed, source)
                    for how in reversed(ways) for compiler in compilers]
        begin = time.monotonic()
        made = [(p, pool.submit(p.make)) for p in projects]
        for project, programs in made:
            try:
                for name, path in programs.result():
                    check_program(place, path)
                    checked += 1
                    print(f'ok: {name}', flush=True)
            except (serve.Failed, OSError,
                    subprocess.SubprocessError) as error:
                failed += 1
                print(f'FAIL: {project.name}: {error}', flush=True)
        print(f'{time.monotonic() - begin:.1f} s')
    print(f'{checked} programs passed, {failed} projects failed')
    if not failed and len(projects) < wanted:
        return 77  # not all that there is to be shown
    return 1 if failed or not checked else 0


if __name__ == '__main__':
    sys.exit(main())
