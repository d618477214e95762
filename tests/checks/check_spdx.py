#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file says its licence, and none says where it was written.

A host of somebody's package mirror or a path of somebody's machine in the tree
works there and nowhere else; a note to do something later is an issue, not a
comment.
"""

import re

import tree

LICENCE = 'SPDX-License-Identifier: Apache-2.0'
# Cannot carry a comment, or is the licence. A patch is compared with the files that it
# changes, and those have the licence of their project: a line of ours would break it.
WITHOUT = re.compile(r'(.*/)?LICENSE$|.*\.(json|csv|cast|png|svg|patch)$|'
                     r'tests/top/golden/.*\.txt$')
# Upstream homes that anybody reaches; everything else is a mirror.
HOSTS = {'github.com', 'www.apache.org', 'spdx.org', 'www.kernel.org',
         'man7.org', 'json-schema.org', 'keepachangelog.com', 'semver.org'}
# Debian's own forms, and what they refer to.
PACKAGING = re.compile(r'debian/(changelog|copyright|source/format)$')
HOSTS |= {'www.debian.org'}
URL = re.compile(r'\b[a-z][a-z0-9+.-]*://([^/\s"\'<>:)\]$]+)', re.IGNORECASE)
# The brackets keep this file from matching itself.
NOTES = re.compile(r'\b(TOD[O]|FIXM[E])\b')
MACHINE = re.compile(r'(?<![\w.}])/(wor[k]|hom[e]/\w+|User[s]/\w+)/'
                     r'|\.\./share[d]\b')


def faults_of(path, text):
    faults = []
    head = text.split('\n')[:2]
    if not WITHOUT.match(path) and not PACKAGING.match(path) and \
            not any(LICENCE in h for h in head):
        faults.append(f'{path}: no {LICENCE}')
    if path.endswith('LICENSE'):
        return faults
    for number, line in tree.lines(text):
        where = f'{path}:{number}'
        faults += [f'{where}: {m[0]}: tell it an issue'
                   for m in NOTES.finditer(line)]
        faults += [f'{where}: a path of one machine: {m[0]}'
                   for m in MACHINE.finditer(line)]
        faults += [f'{where}: a host that not everybody has: {m[1]}'
                   for m in URL.finditer(line)
                   if m[1].lower() not in HOSTS]
    return faults


def check(root):
    faults = []
    for path in tree.files(root):
        try:
            text = tree.read(root, path)
        except UnicodeDecodeError:
            continue
        faults += faults_of(path, text)
    return faults


def self_test():
    said = f'# {LICENCE}\n'
    scheme = 'https:' + '//'
    tree.expect(check, {
        'a.c': f'/* {LICENCE} */\n/* mastodon, not a note */\n',
        'b/run': f'#!/bin/sh\n{said}cd /tmp/x; echo ${{HOME:-/root}}\n',
        'c/x.wrap': f'{said}url = {scheme}github.com/a/b.git\n',
        'LICENSE': f'{scheme}elsewhere.example/\n',
        'd/y.json': '{}\n',
        'd/z.patch': '--- a/x\n+++ b/x\n',
    }, [])
    machine = '/' + 'work/main'
    tree.expect(check, {
        'a.c': '#include <x.h>\n\n/* late: ' + LICENCE + ' */\n',
        'b.sh': said + 'curl ' + scheme + 'mirror.example:8080/x\n',
        'c.c': said + '/* TO' + 'DO */\n/* FIX' + 'ME: later */\n',
        'd.md': said + f'see {machine}/x and ../sha' + 'red/reference\n',
        'e.py': said + 'path = "/ho' + 'me/somebody/x"\n',
        'f.wrap': said + 'url = ' + scheme + 'u:p@proxy.example/x\n',
    }, ['a.c: no SPDX', 'b.sh:2: a host', 'c.c:2: TO',
        'c.c:3: FIX', 'd.md:2: a path', 'd.md:2: a path', 'e.py:2: a path',
        'f.wrap:2: a host'])


if __name__ == '__main__':
    self_test()
    top = tree.root_argument()
    tree.report('spdx', check(top), f'{len(tree.files(top))} files')
