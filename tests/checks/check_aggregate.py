#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/aggregate.md and lib/shm/aggregate.h say the same.

The page draws each struct under a heading that names it and its size: offset, bytes,
member. Lists of values name the prefix of their enumerators. Each of these is held
against what a small compiled program says about the header; a member or enumerator
that the page leaves out is a fault, too.
"""

import re
import sys

import check_layout
import tree

PAGE = 'docs/aggregate.md'
HEADER = 'lib/shm/aggregate.h'

HEADING = re.compile(r'#+ .*`(ttm_\w+)`, ([\d,]+) bytes$')
MEMBER = re.compile(r'    (0x[0-9a-f]+) +(\d+|-)  (\w+)( .*)?$')
VALUES = re.compile(r'`\w+` \(`(TTM_[A-Z_]+_)`\): (.*?)\.\s', re.DOTALL)
# The two parts have drawings; together they have none.
NOT_DRAWN = {'ttm_aggregate_header'}
# Counts, not values.
NOT_VALUES = {'TTM_TABLES'}
# What sentences of the page say: (text with a number in it, expression).
SENTENCES = (
    (r'(\d+) entries', 'TTM_TABLES_MAX'),
    (r'([\d,]+) in HISTORY_1S', 'TTM_HISTORY_1S'),
    (r'([\d,]+) in HISTORY_10S', 'TTM_HISTORY_10S'),
    (r'([\d,]+) in HISTORY_1M', 'TTM_HISTORY_1M'),
    (r'(\d+) words by reading', 'TTM_READINGS_MAX'),
    (r'version +(\d+)\n', 'TTM_AGGREGATE_VERSION'),
    (r'header_size +(\d+)\n', 'TTM_AGGREGATE_HEADER_SIZE'),
    (r'At (0x800)\.', 'offsetof(struct ttm_aggregate_header, live)'),
    (r'(\d+) sums\n', 'TTMEM_FIGURES'),
)


def number(text):
    return int(text.replace(',', ''), 0)


def ask_structs(text, questions, covered):
    struct = None
    faults = []
    for line in text.split('\n'):
        if line.startswith('#'):
            found = HEADING.match(line)
            struct = found[1] if found else None
            if struct:
                questions.append((f'sizeof(struct {struct})',
                                  number(found[2]), f'{struct}: size'))
        found = MEMBER.match(line)
        if not found:
            if struct and line.startswith('    0x'):
                faults.append(f'{PAGE}: what is {line.strip()!r}?')
            continue
        if struct is None:
            if 'header' not in line:
                faults.append(f'{PAGE}: of which struct is {line!r}?')
            continue
        off, size, member = found[1], found[2], found[3]
        covered.add((struct, member))
        what = f'{struct}: {member}'
        questions.append((f'offsetof(struct {struct}, {member})',
                          number(off), f'{what}: offset'))
        if size != '-':
            questions.append((f'sizeof(((struct {struct} *)0)->{member})',
                              int(size), f'{what}: bytes'))
    return faults


def ask_values(text, questions, covered):
    faults = []
    for prefix, listed in VALUES.findall(text):
        for item in re.split(r';\s+', listed):
            found = re.match(r'(\d+) (\w+)', item)
            if not found:
                faults.append(f'{PAGE}: {prefix}: what is {item!r}?')
                continue
            covered.add(prefix + found[2])
            questions.append((prefix + found[2], int(found[1]),
                              prefix + found[2]))
    for pattern, expression in SENTENCES:
        found = re.search(pattern, text)
        if found:
            questions.append((expression, number(found[1]), expression))
        else:
            faults.append(f'{PAGE}: nothing like {pattern!r}')
    found = re.search(r'  magic +(\w{8})\n', text)
    questions.append(('TTM_AGGREGATE_MAGIC', int.from_bytes(
        found[1].encode() if found else b'', 'little'), 'magic'))
    return faults


def left_out(header, covered):
    faults = []
    for struct, body in re.findall(r'struct (ttm_\w+) \{(.*?)\n\};', header,
                                   re.DOTALL):
        if struct in NOT_DRAWN:
            continue
        faults += [f'{PAGE}: nothing about {m} of struct {struct}'
                   for m in re.findall(r'(\w+)\s*(?:\[[^\]]*\])?;', body)
                   if (struct, m) not in covered and m != 'reserved']
    for body in re.findall(r'enum \w+ \{(.*?)\}', header, re.DOTALL):
        faults += [f'{PAGE}: nothing about {name}'
                   for name in re.findall(r'(\w+) =', body)
                   if name not in covered and name not in NOT_VALUES]
    return faults


def check(root):
    text = tree.read(root, PAGE)
    questions, covered = [], set()
    faults = ask_structs(text, questions, covered)
    faults += ask_values(text, questions, covered)
    faults += left_out(tree.without_comments(tree.read(root, HEADER)),
                       covered)
    said, trouble = check_layout.answers(root, questions,
                                         'shm/aggregate.h')
    if said is None:
        return faults + [f'{HEADER}: cannot be asked:\n{trouble}']
    for (expression, wanted, what), is_now in zip(questions, said):
        if is_now != wanted:
            faults.append(f'{what}: the page says {wanted:#x}, '
                          f'the header {is_now:#x} ({expression})')
    check.asked = len(questions)
    return faults


def changed(root, name, old, new):
    """The faults after one change to a copy of the real tree."""
    content = {n: tree.read(root, n) for n in tree.files(root)
               if n in (PAGE, HEADER, 'lib/shm/layout.h') or
               n.startswith('include/ttmem/')}
    if old not in content[name]:
        sys.exit(f'self-test: {old!r} is not in {name}')
    content[name] = content[name].replace(old, new, 1)
    return '\n'.join(tree.found_in(check, content))


def self_test(root):
    """Small lies on either side are found."""
    for name, old, new, wanted in (
            (PAGE, '0x03c     4  uid', '0x040     4  uid', 'uid: offset'),
            (PAGE, '0x038     4  pid', '0x038     8  pid', 'pid: bytes'),
            (PAGE, '`ttm_point`, 128 bytes', '`ttm_point`, 120 bytes',
             'ttm_point: size'),
            (PAGE, '2 HELD', '4 HELD', 'TTM_DIRECTORY_HELD'),
            (PAGE, '7 MARKS; ', '', 'nothing about TTM_TABLE_MARKS'),
            (PAGE, '360 in', '361 in', 'TTM_HISTORY_10S'),
            (PAGE, '    0x020     8  tid\n', '', 'nothing about tid'),
            (PAGE, 'TTMEMAGG', 'TTMEMSEG', 'magic'),
            (HEADER, 'TTM_IDENTITY_PCI = 2,', 'TTM_IDENTITY_PCI = 2,\n'
             'TTM_IDENTITY_NEW = 9,', 'nothing about TTM_IDENTITY_NEW'),
            (HEADER, '#define TTM_HISTORY_1S 300u',
             '#define TTM_HISTORY_1S 301u', 'TTM_HISTORY_1S')):
        found = changed(root, name, old, new)
        if wanted not in found:
            sys.exit(f'self-test: {old!r} as {new!r} was not found: {found}')


if __name__ == '__main__':
    top = tree.root_argument()
    found_faults = check(top)
    if not found_faults:
        self_test(top)
        check(top)
    tree.report('aggregate', found_faults,
                f'{getattr(check, "asked", 0)} facts')
