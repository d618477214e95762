#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both ends of every ordering, and one door to the atomics.

A release without its acquire orders nothing, and neither shows in a test that
passes on x86: so each end is marked `pairs(name): release`, `acquire` or `full`
(which is both), and an end without its partner is a fault; one that says it is
paired "with the aggregator" or its drain may wait until lib/daemon is there.
Atomic operations come from lib/shm/atomics.h alone (tools: common/word.h):
elsewhere a built-in, a volatile or a fence would have no name to pair.
"""

import re

import tree

DOOR = 'lib/shm/atomics.h'
# What judges the library must not stand on it: the tools have a door of their
# own, for words of their own memory.
TOOLS_DOOR = 'tools/common/word.h'
# ttmem_enabled() is inline in a header that may include nothing of ours.
VOLATILE_READS = {'include/ttmem/ttmem.h': 1}

# In the text that explains the marks.
EXAMPLE = 'name'

MARK = re.compile(r'\bpairs\(([^)\n]*)\)(:\s*(\w+))?')
NAME = re.compile(r'[a-z0-9_.-]+$')
ORDERS = {'release': {'release'}, 'acquire': {'acquire'},
          'full': {'release', 'acquire'}}
BARE = re.compile(r'\b(__atomic_\w+|__sync_\w+|__c11_atomic\w*|_Atomic'
                  r'|stdatomic|atomic_\w+\s*\(|AO_\w+)')
ASM = re.compile(r'\b(?:asm|__asm__|__asm)\b(?:\s*(?:volatile|__volatile__|goto'
                 r'|inline))*\s*\(')
VOLATILE = re.compile(r'\b(?:volatile|__volatile__?)\b')


def statement(text, start):
    """The parenthesis that opens before `start`, as text."""
    depth = 1
    end = start
    while end < len(text) and depth:
        depth += {'(': 1, ')': -1}.get(text[end], 0)
        end += 1
    return text[start:end]


def asm_faults(path, text):
    """Fences written as assembly; returns them and the text without asm."""
    faults = []
    rest = text
    for match in ASM.finditer(text):
        body = statement(text, match.end())
        if '"memory"' in body:
            line = text.count('\n', 0, match.start()) + 1
            faults.append(f'{path}:{line}: a fence in assembly')
        whole = text[match.start():match.end()] + body
        rest = rest.replace(whole, tree.blank(whole))
    return faults, rest


def bare_faults(path, text):
    faults, text = asm_faults(path, tree.without_comments(text))
    volatiles = []
    for number, line in tree.lines(text):
        for match in BARE.finditer(line):
            faults.append(f'{path}:{number}: {match[1]} outside {DOOR}')
        volatiles += [f'{path}:{number}: volatile'
                      for _ in VOLATILE.finditer(line)]
    return faults + volatiles[VOLATILE_READS.get(path, 0):]


def awaits(text):
    """Whether a mark's promise is to the aggregator."""
    promise = re.sub(r'[\s*]+', ' ', text)
    return bool(re.match(r'[^:]*\bwith the (aggregator|drain)\b', promise))


def marks_of(path, text, ends):
    """Adds {name: {order: [where]}} and returns marks that say nothing."""
    faults = []
    for first, comment in tree.comments(text):
        for match in MARK.finditer(comment):
            line = first + comment.count('\n', 0, match.start())
            where = f'{path}:{line}'
            if match[3] not in ORDERS or not NAME.match(match[1]):
                faults.append(f'{where}: what is {match[0]!r}?')
                continue
            if match[1] == EXAMPLE:
                continue
            orders = set(ORDERS[match[3]])
            if awaits(comment[match.end():]):
                orders.add('aggregator')
            for order in orders:
                ends.setdefault(match[1], {}).setdefault(order, []) \
                    .append(where)
    return faults


def single_faults(ends, aggregator):
    faults = []
    for name, orders in sorted(ends.items()):
        if 'aggregator' in orders and not aggregator:
            continue
        for order in ('release', 'acquire'):
            if order not in orders:
                where = ', '.join(sorted(set(sum(orders.values(), []))))
                faults.append(f'{where}: pairs({name}) has no {order}')
    return faults


def check(root):
    ends = {}
    faults = []
    known = tree.files(root)
    for path in known:
        if not path.endswith(tree.C_ENDINGS):
            continue
        if not path.startswith(('lib/', 'include/', 'tools/')):
            continue
        text = tree.read(root, path)
        faults += marks_of(path, text, ends)
        if path not in (DOOR, TOOLS_DOOR):
            faults += bare_faults(path, text)
    aggregator = any(p.startswith('lib/daemon/') for p in known)
    return faults + single_faults(ends, aggregator)


def self_test():
    tree.expect(check, {
        DOOR: 'AO_load(p); volatile int x; __atomic_load_n(p, 0);\n'
              '__asm__ volatile("" ::: "memory");\n',
        'lib/shm/a.c': '/* pairs(tail): release, lane_read(): complete */\n'
                       '/* pairs(stack): full */\n'
                       '/*\n * pairs(tail): acquire\n * pairs(word): acquire\n'
                       ' */\n',
        'lib/record/b.c': '/* pairs(word): release. volatile __atomic_x */\n'
                          '__asm__ volatile("rdtsc" : "=a"(x));\n'
                          'const char *s = "/* pairs(none): acquire */";\n',
        'include/ttmem/ttmem.h': 'x = *(const volatile int *)&y;\n',
        'lib/record/c.c': '/* pairs(late): release, with the\n'
                          ' * aggregator: complete */\n'
                          '/* pairs(ring): release, with the drain: x */\n'
                          '/* pairs(name): release */\n',
        'tests/t.c': '__atomic_load_n(p, 0); volatile int x;\n',
    }, [])
    tree.expect(check, {
        'lib/record/c.c': '/* pairs(late): release, with the aggregator */\n',
        'lib/daemon/follow/drain.c': '',
    }, ['c.c:1: pairs(late) has no acquire'])
    tree.expect(check, {
        'lib/shm/a.c': '/* pairs(tail): release */\n'
                       '/* pairs(head): acquire */\n'
                       '/* pairs(word) release */\n/* pairs(x): relaxed */\n'
                       '/* pairs(Two Words): full */\n',
        'lib/record/b.c': '__atomic_store_n(p, 1, 0);\n__sync_synchronize();\n'
                          'volatile int x;\nAO_nop_full();\n_Atomic int y;\n'
                          'asm volatile(""\n ::: "memory");\n'
                          'atomic_load (&y);\n',
        'include/ttmem/ttmem.h': 'volatile int a;\nvolatile int b;\n',
        'tools/common/c.c': '#include <stdatomic.h>\n',
    }, [
        'a.c:1: pairs(tail) has no acquire',
        'a.c:2: pairs(head) has no release',
        "a.c:3: what is 'pairs(word)'",
        "a.c:4: what is 'pairs(x): relaxed'",
        "a.c:5: what is 'pairs(Two Words): full'",
        'b.c:1: __atomic_store_n',
        'b.c:2: __sync_synchronize',
        'b.c:3: volatile',
        'b.c:4: AO_nop_full',
        'b.c:5: _Atomic',
        'b.c:6: a fence in assembly',
        'b.c:8: atomic_load',
        'ttmem.h:2: volatile',
        'c.c:1: stdatomic',
    ])


if __name__ == '__main__':
    self_test()
    top = tree.root_argument()
    found = {}
    for name in tree.files(top):
        if name.startswith('lib/') and name.endswith(tree.C_ENDINGS):
            marks_of(name, tree.read(top, name), found)
    tree.report('pairs', check(top), f'{len(found)} pairs')
