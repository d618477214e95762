#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the built library shows to its host, and what it asks of it.

usage: check_symbols.py [--reader] SHARED STATIC|- HEADER...

A runtime that embeds the library must get the names its headers declare, no
others, and no further libraries; it must not be able to unload it; and the
thread-local storage must fit what the loader keeps for late dlopen(). The library
that reads (--reader) leaves nothing behind in its host: it may be unloaded, and it
needs jansson.
"""

import os
import re
import subprocess
import sys
import tempfile

import tree

NEEDED = re.compile(r'(libc\.so\.6|ld-linux[\w-]*\.so\.\d+'
                    r'|libatomic_ops\.so\.\d+)$')
NEEDED_READER = re.compile(NEEDED.pattern[:-1] + r'|libjansson\.so\.\d+$')
TLS_BYTES = 16
STATIC_NAME = re.compile(r'ttmem_|ttm_')
# Sections of the compiler's own, one per object.
IGNORED = re.compile(r'__(x86|odr_asan|gcov|llvm|stack_chk|start_|stop_)')


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, LC_ALL='C')).stdout.decode()


def declared(headers):
    """Names that the headers declare with TTMEM_API."""
    names = set()
    for header in headers:
        with open(header, encoding='utf-8') as f:
            text = tree.without_comments(f.read())
        text = re.sub(r'\\\n', ' ', text)
        text = re.sub(r'(?m)^\s*#.*$', '', text)
        for match in re.finditer(r'\bTTMEM_API\b([^;({]*)[;({]', text):
            names.add(re.findall(r'\w+', match[1].split('[')[0])[-1])
    return names


def defined(path, *options):
    """{name} of the global symbols that a file defines."""
    names = set()
    for line in run('nm', *options, '--defined-only', path).split('\n'):
        match = re.match(r'[0-9a-f]*\s+([A-Za-z])\s+(\S+)$', line)
        # A is the version node itself.
        if match and match[1] != 'A' and not IGNORED.match(match[2]):
            names.add(match[2].split('@')[0])
    return names


def shared_faults(path, wanted, reader):
    exported = defined(path, '-D')
    faults = [f'{path}: exports {n}, which no header declares'
              for n in sorted(exported - wanted)]
    faults += [f'{path}: does not export {n}'
               for n in sorted(wanted - exported)]
    dynamic = run('readelf', '-dW', path)
    for name in re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic):
        if not (NEEDED_READER if reader else NEEDED).match(name):
            faults.append(f'{path}: needs {name}')
    if not reader and not re.search(r'\(FLAGS_1\).*\bNODELETE\b', dynamic):
        faults.append(f'{path}: can be unloaded (no -z nodelete)')
    if re.search(r'\(TEXTREL\)', dynamic):
        faults.append(f'{path}: has text relocations')
    for line in run('readelf', '-lW', path).split('\n'):
        fields = line.split()
        if fields[:1] == ['TLS'] and int(fields[5], 16) > TLS_BYTES:
            faults.append(f'{path}: {int(fields[5], 16)} bytes of '
                          'thread-local storage')
    return faults


def static_faults(path, wanted):
    names = defined(path, '-g')
    faults = [f'{path}: leaks the name {n}' for n in sorted(names)
              if not STATIC_NAME.match(n)]
    faults += [f'{path}: {n} looks public, but no header declares it'
               for n in sorted(names - wanted) if n.startswith('ttmem_')]
    return faults + [f'{path}: lacks {n}' for n in sorted(wanted - names)]


def check(shared, static, headers, reader=False):
    wanted = declared(headers)
    if not wanted:
        return ['the headers declare nothing']
    faults = shared_faults(shared, wanted, reader)
    return faults if static == '-' else faults + static_faults(static, wanted)


HEADER = '''
/* TTMEM_API int ttmem_not_this(void); */
#define TTMEM_API __attribute__((visibility("default")))
extern TTMEM_API int ttmem_word[2];
TTMEM_API int *
ttmem_good(int x,
	int y);
TTMEM_API void ttmem_also(void);
'''
GOOD = '''
#include "x.h"
int ttmem_word[2];
int *ttmem_good(int x, int y) { return ttmem_word + x + y; }
void ttmem_also(void) { }
int ttm_inner;
'''
BAD = '''
#include "x.h"
int ttmem_word[2];
int *ttmem_good(int x, int y) { return ttmem_word + x + y; }
int stray;
int ttmem_secret;
_Thread_local char big[24];
double cos(double);
double use(double x) { return cos(x) + big[0]; }
'''


def built(folder, code, *flags):
    """A shared and a static library of a few lines."""
    cc = os.environ.get('CC', 'cc').split()
    at = lambda name: os.path.join(folder, name)
    tree.make(folder, {'x.h': HEADER, 'x.c': code})
    subprocess.run([*cc, '-fPIC', '-c', at('x.c'), '-o', at('x.o')],
                   check=True)
    subprocess.run([*cc, '-shared', at('x.o'), '-o', at('x.so'),
                    '-Wl,--no-as-needed', *flags], check=True)
    subprocess.run(['ar', 'rc', at('x.a'), at('x.o')], check=True)
    return check(at('x.so'), at('x.a'), [at('x.h')])


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        tree.make(folder, {'map': '{ global: ttmem_*; local: *; };\n'})
        script = '-Wl,--version-script,' + os.path.join(folder, 'map')
        good = built(folder, GOOD, '-Wl,-z,nodelete', script)
        if good:
            sys.exit(f'self-test: unexpected: {good}')
        bad = '\n'.join(built(folder, BAD, '-lm'))
    for wanted in ('exports stray', 'exports ttmem_secret',
                   'does not export ttmem_also', 'needs libm', 'unloaded',
                   '24 bytes of thread-local', 'leaks the name stray',
                   'lacks ttmem_also', 'ttmem_secret looks public'):
        if wanted not in bad:
            sys.exit(f'self-test: not found: {wanted} in\n{bad}')
    if 'ttmem_not_this' in bad or 'ttmem_good' in bad:
        sys.exit(f'self-test: unexpected in\n{bad}')


if __name__ == '__main__':
    arguments = sys.argv[1:]
    is_reader = arguments[:1] == ['--reader']
    if is_reader:
        arguments = arguments[1:]
    if len(arguments) < 3:
        sys.exit(__doc__)
    self_test()
    tree.report('symbols',
                check(arguments[0], arguments[1], arguments[2:], is_reader),
                f'{len(declared(arguments[2:]))} names')
