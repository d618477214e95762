#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hook with tracking off costs at most five instructions.

usage: check_disabled_hooks.py PROGRAM HEADER LIBRARY

PROGRAM (disabled_hooks.c) calls every hook; callgrind counts what each of them
executes, callees included. The disassembly of LIBRARY has to say so, too: the
shortest way from a hook's first instruction to a return. One of the two is
enough where the machine has no more; exits with 77 where neither can be had.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 5
TIMES = 1000
# They are called once or for display, and say so; a core set returns a count even then.
NOT_HOOKS = {'ttmem_core_set', 'ttmem_start', 'ttmem_stop', 'ttmem_status',
             'ttmem_usage', 'ttmem_internal_decide', 'ttmem_internal_switch'}


def hooks_of(header):
    with open(header, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.DOTALL)
    names = re.findall(r'^TTMEM_API\b[^;(]*?(\w+)\(', text, re.MULTILINE)
    return set(names) - NOT_HOOKS


def run(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=env)
    said = done.stdout.decode()
    if done.returncode != 0:
        sys.exit(f'{said}{command[0]}: exit status {done.returncode}')
    return said


def callgrind_costs(out):
    """{function: instructions, callees included} of a callgrind file."""
    names = {}
    costs = {}
    current = None
    for line in out.split('\n'):
        match = re.match(r'(c?fn)=\((\d+)\)(?: (.*))?$', line)
        if match:
            if match[3]:
                names[match[2]] = match[3]
            if match[1] == 'fn':
                current = names[match[2]].split("'")[0]
            continue
        # Position and cost; after calls= the cost is that of the callee.
        match = re.match(r'[+*\d-]\d* (\d+)$', line)
        if match and current:
            costs[current] = costs.get(current, 0) + int(match[1])
    return costs


def without_debug(path, folder):
    """A copy under the name that others ask for; valgrind 3.19 gives up on the
    debug information of newer compilers."""
    name = os.path.basename(path)
    if '.so' in name:
        name = re.search(r'\(SONAME\).*\[(.*)\]',
                         run(['readelf', '-dW', path]))[1]
    copy = os.path.join(folder, name)
    run(['strip', '--strip-debug', '-o', copy, path])
    return copy


def measure(program, library, times):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(('TTMEM_', 'TT_ALLOC_'))}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'out')
        program = without_debug(program, folder)
        if '.so' in library:
            without_debug(library, folder)
            environment['LD_LIBRARY_PATH'] = folder
        run(['valgrind', '--tool=callgrind', '--toggle-collect=measured',
             '--callgrind-out-file=' + out, program, str(times)],
            env=environment)
        with open(out, encoding='utf-8') as f:
            return callgrind_costs(f.read())


def above(costs, hooks, limit):
    """The hooks that cost more; {name: instructions per call}."""
    return {h: costs[h] for h in sorted(hooks) if costs[h] > limit}


def by_callgrind(program, library, hooks):
    costs = measure(program, library, TIMES)
    missing = sorted(h for h in hooks if h not in costs)
    if missing:
        sys.exit(f'{program} does not call {missing}')
    return {h: costs[h] / TIMES for h in hooks}


# -- the disassembly ----------------------------------------------------------

JUMP = re.compile(r'(jmp|j[a-z]+|b|b\.[a-z]+|cbz|cbnz|tbz|tbnz)$')
ALWAYS = ('jmp', 'b')
STOPS = re.compile(r'(call|bl|blr|br|ud2|hlt)')


def functions(library):
    """{name: [(address, mnemonic, operands)]} of what objdump shows."""
    found = {}
    body = None
    for line in run(['objdump', '-d', '--no-show-raw-insn', library],
                    env=dict(os.environ, LC_ALL='C')).split('\n'):
        match = re.match(r'[0-9a-f]+ <(.*)>:$', line)
        if match:
            body = found.setdefault(match[1], [])
            continue
        match = re.match(r'\s*([0-9a-f]+):\s+(\S+)\s*(.*)$', line)
        if match and body is not None:
            mnemonic, operands = match[2], match[3]
            # `repz ret`, `bnd jmp`: the prefix is no instruction.
            if mnemonic in ('repz', 'bnd', 'notrack'):
                mnemonic, _, operands = operands.partition(' ')
            body.append((int(match[1], 16), mnemonic, operands.strip()))
    return found


def shortest_way(code, begin):
    """Instructions from `begin` to the nearest return, or None."""
    order = sorted(code)
    after = dict(zip(order, order[1:]))
    ways = [(begin, 1)]
    seen = set()
    for address, length in ways:
        if address in seen or address not in code:
            continue
        seen.add(address)
        mnemonic, operands = code[address]
        if mnemonic.startswith('ret'):
            return length
        if STOPS.match(mnemonic):
            continue
        target = re.search(r'\b([0-9a-f]+) <', operands)
        if JUMP.match(mnemonic) and target:
            ways.append((int(target[1], 16), length + 1))
        if mnemonic not in ALWAYS and address in after:
            ways.append((after[address], length + 1))
    return None


def by_disassembly(library, hooks):
    bodies = functions(library)
    missing = sorted(h for h in hooks if h not in bodies)
    if missing:
        sys.exit(f'{library} does not define {missing}')
    code = {a: (m, o) for b in bodies.values() for a, m, o in b}
    ways = {h: shortest_way(code, bodies[h][0][0]) for h in hooks}
    return {h: 10 ** 6 if w is None else w for h, w in ways.items()}


def self_test():
    """The reading of callgrind's file and the search know how to count."""
    costs = callgrind_costs('fn=(1) hook\n10 7\n+2 3\ncfn=(2) inner\n'
                            'calls=1 5\n* 90\nfn=(2)\n5 90\n')
    if costs != {'hook': 100, 'inner': 90}:
        sys.exit(f'self-test: {costs}')
    code = {1: ('cmp', ''), 2: ('jne', '5 <x+4>'), 3: ('call', '9 <y>'),
            4: ('ret', ''), 5: ('nop', ''), 6: ('ret', '')}
    if shortest_way(code, 1) != 4 or shortest_way(code, 3) is not None:
        sys.exit('self-test: the shortest way')


def judge(how, costs, hooks):
    for hook in sorted(hooks):
        print(f'{how}: {hook} {costs[hook]:g}')
    # With a limit of nothing each of them has to be found.
    if len(above(costs, hooks, 0)) != len(hooks):
        sys.exit(f'{how}: some hook costs nothing: not counted?')
    too_much = above(costs, hooks, LIMIT)
    for hook, cost in too_much.items():
        print(f'FAIL: {hook} takes {cost:g} instructions when off')
    return bool(too_much)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, header, library = sys.argv[1:]
    self_test()
    hooks = hooks_of(header)
    if len(hooks) < 18:
        sys.exit(f'only {len(hooks)} hooks in {header}')
    ways = []
    if shutil.which('valgrind'):
        ways.append(('callgrind', by_callgrind(program, library, hooks)))
    if shutil.which('objdump'):
        ways.append(('disassembly', by_disassembly(library, hooks)))
    if not ways:
        print('neither valgrind nor objdump')
        sys.exit(77)
    sys.exit(any([judge(how, costs, hooks) for how, costs in ways]))


if __name__ == '__main__':
    main()
