#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include what.

The roles meet only in lib/shm: a program's recording side must not grow a
dependency on the aggregator, nor a tool on the library's insides. A folder
without a rule is a fault, so that nothing new escapes the table.
"""

import os
import re

import tree

ISO = set('''assert complex ctype errno fenv float inttypes iso646 limits locale
math setjmp signal stdalign stdarg stdbool stddef stdint stdio stdlib
stdnoreturn string tgmath time uchar wchar wctype'''.split())
LIBC = ISO | set('''cpuid dirent dlfcn elf endian err execinfo fcntl fnmatch ftw
getopt glob grp immintrin langinfo libgen link malloc mntent paths poll pthread
pwd regex sched search semaphore spawn strings syslog termios threads ucontext
unistd utime wordexp x86intrin'''.split())
LIBC_FOLDERS = ('sys/', 'linux/', 'asm/', 'arpa/', 'net/', 'netinet/',
                'sanitizer/')
OTHERS = (
    ('atomic_ops', re.compile(r'atomic_ops(\.h|/)')),
    ('urcu', re.compile(r'urcu(\.h|/|-)')),
    ('jansson', re.compile(r'jansson\.h')),
    ('hdr', re.compile(r'hdr/|hdr_histogram')),
    ('jansson', re.compile(r'jansson\.h')),
    ('ncurses', re.compile(r'n?cursesw?(\.h|/)|term\.h')),
    ('atomic', re.compile(r'stdatomic\.h')),
    ('c++', re.compile(r'[a-z_]+$')),
    ('tt-metal',
     re.compile(r'(tt-metalium|internal)/([a-z_]+/)*[a-z_]+\.hpp$')),
)

TOOL = ('public', 'libc', 'tools/common')
TOP = 'tools/ttmem-top'
DAEMON = ('testpoint', 'lib/shm', 'public', 'iso', 'libc')
DAEMON_FOLDERS = tuple('lib/daemon/' + name for name in (
    'dead', 'find', 'follow', 'publish', 'sensors', 'state'))
# First match decides. What a file may include besides its own folder.
RULES = (
    # The C++ front: header-only.
    (r'include/ttmem/ttmem\.hpp$', ('public', 'c++')),
    (r'include/ttmem/', ('iso', 'public')),
    (r'lib/shm/', ('public', 'iso', 'libc', 'atomic_ops')),
    # Pure: neither shared memory nor clock nor files.
    (r'lib/daemon/state/chunk\.c$', ('iso', 'libc')),
    (r'lib/daemon/state/', ('iso', 'public', 'pure')),
    # find -> follow -> state -> publish; the sensors come in at the publication.
    (r'lib/daemon/find/', DAEMON + ('urcu',)),
    (r'lib/daemon/follow/',
     DAEMON + ('lib/daemon/find', 'lib/daemon/state')),
    (r'lib/daemon/sensors/', DAEMON + ('lib/daemon/find', 'urcu')),
    (r'lib/daemon/publish/',
     DAEMON + ('lib/daemon/find', 'lib/daemon/follow', 'lib/daemon/sensors',
               'lib/daemon/state', 'hdr')),
    (r'lib/daemon/dead/',
     DAEMON + ('lib/daemon/follow', 'lib/daemon/publish',
               'lib/daemon/state')),
    (r'lib/record/', ('lib/shm', 'public', 'iso', 'libc')),
    # The engine joins them.
    (r'lib/daemon/[^/]*$', DAEMON + DAEMON_FOLDERS),
    # Those that know the JSON library.
    (r'lib/read/parse(_objects)?\.[ch]$',
     ('lib/shm', 'public', 'iso', 'libc', 'jansson')),
    (r'lib/read/', ('lib/shm', 'public', 'iso', 'libc')),
    (r'tools/common/', ('public', 'iso', 'libc')),
    # One way: the model knows no view, views know no terminal.
    (TOP + '/model/', TOOL + ('iso',)),
    (TOP + '/views/', TOOL + ('iso', TOP + '/model')),
    # The one file that knows the terminal.
    (TOP + r'/terminal/screen\.c$', TOOL + ('iso', 'ncurses', TOP + '/views')),
    (TOP + '/', TOOL + ('iso', TOP, TOP + '/model', TOP + '/views',
                        TOP + '/terminal')),
    # The one file of a tool that knows JSON.
    (r'tools/ttmem-[a-z]+/json\.c$', TOOL + ('iso', 'jansson')),
    (r'tools/ttmem-(dump|load)/', TOOL + ('iso',)),
    (r'tools/ttmemd/',
     TOOL + DAEMON_FOLDERS + ('iso', 'lib/daemon', 'lib/shm', 'urcu')),
    (r'adapters/tt-metal/', ('public', 'c++', 'tt-metal')),
    (r'examples/', ('public', 'iso', 'libc', 'c++')),
    (r'(tests|bench)/', None),
)
NOT_PURE = ('stdio.h', 'time.h')
# What they may see besides each other: words and their meaning, and memory.
FOR_PURE = ('lib/shm/layout.h',)
# Where <...> and "..." are looked for after the file's own folder.
SEARCHED = ('include', 'lib', 'tools', 'tests', '')

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\S.*))')


def folder_of(path):
    parts = path.split('/')
    if path.startswith(TOP) and len(parts) > 3:
        return '/'.join(parts[:3])
    if path.startswith('lib/daemon/'):
        return '/'.join(parts[:-1])
    return '/'.join(parts[:2]) if len(parts) > 2 else parts[0]


def resolve(name, by, known):
    """The project's file meant by an include, or None."""
    own = os.path.normpath(os.path.join(os.path.dirname(by), name))
    if own in known:
        return own
    for start in SEARCHED:
        path = os.path.normpath(os.path.join(start, name))
        if path in known:
            return path
    return None


def kinds(name, by, known):
    """What an include is, in the words of RULES; empty: nothing known."""
    path = resolve(name, by, known)
    if path is None and name.startswith('ttmem/'):
        path = 'include/' + name
    if path is not None:
        found = {folder_of(path)}
        if path.startswith('include/ttmem/'):
            found.add('public')
        if path in FOR_PURE or path.startswith('lib/daemon/state/'):
            found.add('pure')
        if path == 'lib/daemon/testpoint.h':
            found.add('testpoint')
        return found
    for kind, pattern in OTHERS:
        if pattern.match(name):
            return {kind}
    if name.endswith('.h') and name[:-2] in ISO:
        return {'iso'}
    if name.endswith('.h') and (
            name[:-2] in LIBC or name.startswith(LIBC_FOLDERS)):
        return {'libc'}
    return set()


def faults_of(path, text, known):
    rule = next((r for r in RULES if re.match(r[0], path)), None)
    if rule is None:
        return [f'{path}: no rule for this folder']
    if rule[1] is None:
        return []
    pure = 'pure' in rule[1]
    allowed = set(rule[1]) if pure else set(rule[1]) | {folder_of(path)}
    faults = []
    for number, line in tree.lines(tree.without_comments(text)):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match[1] or match[2]
        if name is None:
            faults.append(f'{path}:{number}: includes a macro')
        elif not kinds(name, path, known) & allowed or (
                pure and name in NOT_PURE):
            faults.append(f'{path}:{number}: must not include {name}')
    return faults


def check(root):
    known = tree.files(root)
    faults = []
    for path in known:
        if path.startswith('subprojects/'):
            continue
        if path.endswith(tree.C_ENDINGS):
            faults += faults_of(path, tree.read(root, path), set(known))
    return faults


def self_test():
    tree.expect(check, {
        'include/ttmem/a.h': '#include <stdint.h>\n#include <ttmem/b.h>\n',
        'include/ttmem/b.h': '/*\n#include <pthread.h>\n*/\n',
        'include/ttmem/ttmem.hpp': '#include <string>\n'
                                   '#include <ttmem/a.h>\n',
        'adapters/tt-metal/a.hpp':
            '#include <tt-metalium/experimental/per_core/buffer.hpp>\n'
            '#include <vector>\n#include <ttmem/ttmem.hpp>\n',
        'lib/shm/x.h': '#include <atomic_ops.h>\n#include <sys/mman.h>\n',
        'lib/shm/x.c': '#include "x.h"\n#include "shm/x.h"\n',
        'lib/record/r.c': '#include "shm/x.h"\n#include "record/r.h"\n'
                          '#include <ttmem/a.h>\n#include <pthread.h>\n',
        'lib/record/r.h': '',
        'lib/daemon/state/apply.c': '#include "apply.h"\n'
                                    '#include "model.h"\n'
                                    '#include <string.h>\n'
                                    '#include <ttmem/b.h>\n',
        'lib/daemon/state/apply.h': '',
        'lib/daemon/state/model.h': '',
        'lib/daemon/engine.c': '#include "daemon/find/watch.h"\n'
                               '#include "daemon/state/model.h"\n',
        'lib/daemon/find/watch.h': '#include <urcu.h>\n'
                                   '#include "daemon/testpoint.h"\n',
        'lib/daemon/testpoint.h': '',
        'lib/daemon/follow/drain.c': '#include "daemon/find/watch.h"\n'
                                     '#include "daemon/state/model.h"\n',
        'lib/read/parse.c': '#include <jansson.h>\n#include "shm/x.h"\n',
        'tools/common/c.h': '',
        'tools/ttmem-top/terminal/screen.c': '#include <ncurses.h>\n',
        'tools/ttmem-load/json.c': '#include <jansson.h>\n'
                                   '#include "common/c.h"\n',
        'tools/ttmemd/main.c': '#include "daemon/state/apply.h"\n'
                               '#include "common/c.h"\n',
        'tests/t.c': '#include "record/r.h"\n#include <anything.h>\n',
    }, [])
    tree.expect(check, {
        'include/ttmem/a.h': '#include <unistd.h>\n#include <stdatomic.h>\n'
                             '#include "../../lib/shm/x.h"\n',
        'include/ttmem/b.h': '#include <cstdint>\n',
        'include/ttmem/ttmem.hpp': '#include <unistd.h>\n'
                                   '#include <tt-metalium/buffer.hpp>\n',
        'lib/shm/x.h': '',
        'lib/shm/x.c': '#  include "record/r.h"\n#include MACRO\n',
        'lib/record/r.h': '#include <atomic_ops.h>\n',
        'lib/record/r.c': '#include "../read/f.h"\n#include <urcu.h>\n',
        'tools/ttmem-top/views/view.h': '',
        'tools/ttmem-top/views/view.c': '#include <ncurses.h>\n',
        'tools/ttmem-top/model/rows.c': '#include "ttmem-top/views/view.h"\n',
        'lib/read/f.h': '#include "daemon/state/apply.h"\n'
                        '#include <jansson.h>\n',
        'lib/daemon/state/apply.h': '#include "shm/x.h"\n'
                                    '#include <stdio.h>\n'
                                    '#include <pthread.h>\n'
                                    '#include <time.h>\n'
                                    '#include "daemon/follow/drain.h"\n',
        'lib/daemon/follow/drain.h': '#include "record/r.h"\n'
                                     '#include "daemon/publish/image.h"\n',
        'lib/daemon/publish/image.h': '#include "daemon/dead/retired.h"\n',
        'lib/daemon/dead/retired.h': '#include "daemon/engine.h"\n',
        'lib/daemon/engine.h': '',
        'tools/ttmem-dump/main.c': '#include "shm/x.h"\n',
        'tools/ttmem-load/truth.c': '#include "shm/x.h"\n'
                                    '#include <jansson.h>\n',
        'tools/ttmemd/main.c': '#include "read/f.h"\n#include "gone.h"\n',
        'odd/place.c': '',
    }, [
        'a.h:1: must not include unistd.h',
        'a.h:2: must not include stdatomic.h',
        'a.h:3: must not include ../../lib/shm/x.h',
        'b.h:1: must not include cstdint',
        'ttmem.hpp:1: must not include unistd.h',
        'ttmem.hpp:2: must not include tt-metalium/buffer.hpp',
        'x.c:1: must not include record/r.h',
        'x.c:2: includes a macro',
        'r.h:1: must not include atomic_ops.h',
        'r.c:1: must not include ../read/f.h',
        'r.c:2: must not include urcu.h',
        'f.h:1: must not include daemon/state/apply.h',
        'f.h:2: must not include jansson.h',
        'apply.h:1: must not include shm/x.h',
        'apply.h:2: must not include stdio.h',
        'apply.h:3: must not include pthread.h',
        'apply.h:4: must not include time.h',
        'apply.h:5: must not include daemon/follow/drain.h',
        'drain.h:1: must not include record/r.h',
        'drain.h:2: must not include daemon/publish/image.h',
        'image.h:1: must not include daemon/dead/retired.h',
        'retired.h:1: must not include daemon/engine.h',
        'view.c:1: must not include ncurses.h',
        'rows.c:1: must not include ttmem-top/views/view.h',
        'ttmem-dump/main.c:1: must not include shm/x.h',
        'ttmem-load/truth.c:1: must not include shm/x.h',
        'ttmem-load/truth.c:2: must not include jansson.h',
        'ttmemd/main.c:1: must not include read/f.h',
        'ttmemd/main.c:2: must not include gone.h',
        'odd/place.c: no rule',
    ])


if __name__ == '__main__':
    self_test()
    top = tree.root_argument()
    seen = [f for f in tree.files(top) if f.endswith(tree.C_ENDINGS)]
    tree.report('includes', check(top), f'{len(seen)} files')
