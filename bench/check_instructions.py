#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_instructions.py [--update] [--slack PERCENT] [--keep FOLDER]
                             [--hook NAME]... STEPS COUNTS BUILD

Counts the instructions of hooks with callgrind and holds them against COUNTS
(instructions.txt): one that takes more, by more than the slack, fails.

STEPS is the program steps, BUILD a word for the compiler and its options: the
section of COUNTS. Exits with 77 if valgrind is missing, or nothing was counted
for such a build yet.

  --update         writes what was counted into COUNTS
  --slack PERCENT  allowed difference (default: 5)
  --keep FOLDER    callgrind's files go there, for callgrind_annotate
  --hook NAME      only this one; may be repeated
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HOOKS = ('alloc_small', 'free_small', 'alloc_large', 'free_large',
         'alloc_banked', 'cb_alloc', 'cb_alloc_core_set', 'cb_replace',
         'cb_free', 'kernel_load', 'kernel_dispatch', 'kernel_unload',
         'program_destroy', 'scope_push_pop', 'mesh1_alloc_2k',
         'mesh1_free_2k', 'mesh8_alloc_2k', 'mesh8_free_2k',
         'mesh8_cb_replace', 'mesh8_program_destroy', 'mesh32_alloc_2k',
         'mesh32_free_2k', 'mesh32_alloc_1m', 'mesh32_free_1m', 'disabled')
LIVE = 1000
BATCHES = 50
# Differences this small are one instruction here or there, whatever the slack.
INSTRUCTIONS = 1.0

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
#
# Instructions per call of a hook on 1,000 live objects, by callgrind: what
# check_instructions.py compares with and, with --update, writes. A section is
# an architecture, a compiler and its optimisation.
'''


def calls_cost(text):
    """Instructions inside hooks, by the calls from outside the library."""
    names = {}
    caller = callee = None
    in_call = False
    cost = 0
    for line in text.split('\n'):
        match = re.match(r'(c?fn)=\((\d+)\)(?: (.*))?$', line)
        if match:
            if match[3]:
                names[match[2]] = match[3].split("'")[0]
            name = names[match[2]]
            if match[1] == 'fn':
                caller = name
            else:
                callee = name
            continue
        if line.startswith('calls='):
            in_call = True
            continue
        match = re.match(r'[+*\d-]\d* (\d+)$', line)
        if match and in_call:
            if callee.startswith('ttmem_') and not caller.startswith('ttm'):
                cost += int(match[1])
            in_call = False
    return cost


def count(steps, hook, keep):
    """Instructions per call of a hook."""
    with tempfile.TemporaryDirectory(
            prefix='ttmem-bench.', dir='/dev/shm') as folder:
        out = os.path.join(keep or folder, 'callgrind.' + hook)
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(('TTMEM_', 'TT_ALLOC_'))}
        environment.update(TTMEM_DIR=folder, TTMEM_ENABLED='1')
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', '--toggle-collect=measured',
             '--callgrind-out-file=' + out, steps, hook, str(LIVE),
             str(BATCHES)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f'{hook}: {done.stderr.decode()}')
        with open(out, encoding='utf-8') as f:
            cost = calls_cost(f.read())
    if cost == 0:
        sys.exit(f'{hook}: callgrind counted nothing')
    return cost / int(done.stdout)


def parse(text):
    """{build: {hook: instructions}} of the file."""
    builds = {}
    counts = None
    for line in text.split('\n'):
        line = line.split('#')[0].strip()
        if not line:
            continue
        if line.startswith('['):
            counts = builds.setdefault(line[1:-1], {})
        else:
            name, value = line.split()
            counts[name] = float(value)
    return builds


def render(builds):
    text = HEAD
    for build in sorted(builds):
        text += f'\n[{build}]\n'
        text += ''.join(f'{name:<24}{value:8.1f}\n'
                        for name, value in builds[build].items())
    return text


def verdict(was, now, slack):
    """Whether it fails, and what to say."""
    if was is None:
        return True, 'not in the file'
    allowed = max(was * slack / 100, INSTRUCTIONS)
    if now - was > allowed:
        return True, 'more'
    if was - now > allowed:
        return False, 'less: --update would keep it so'
    return False, ''


def table(counted, known, slack):
    """Prints it; the hooks that fail."""
    faults = []
    print(f'{"hook":<24}{"file":>8}{"now":>8}{"change":>9}')
    for hook, now in counted.items():
        was = known.get(hook)
        fails, text = verdict(was, now, slack)
        change = '' if was is None else f'{(now / was - 1) * 100:+.1f} %'
        shown = '-' if was is None else f'{was:.1f}'
        print(f'{hook:<24}{shown:>8}{now:>8.1f}{change:>9}  {text}'.rstrip())
        if fails:
            faults.append(hook)
    return faults


def self_test():
    text = ('fn=(1) run\n10 7\ncfn=(2) ttmem_x\ncalls=1 5\n* 90\n+2 3\n'
            'fn=(2)\n5 50\ncfn=(3) ttm_y\ncalls=1 5\n* 40\n'
            'cfn=(4) ttmem_z\ncalls=1 5\n* 20\n')
    if calls_cost(text) != 90:
        sys.exit(f'self-test: {calls_cost(text)}')
    if parse(render({'a': {'x': 1.5}})) != {'a': {'x': 1.5}}:
        sys.exit('self-test: the file')
    verdicts = [verdict(w, n, 5)[0] for w, n in (
        (100, 104), (100, 106), (100, 90), (5, 6), (5, 6.5), (None, 1))]
    if verdicts != [False, True, False, False, True, True]:
        sys.exit(f'self-test: {verdicts}')


def arguments():
    parser = argparse.ArgumentParser(
        usage=__doc__.split('\n\n')[0][7:], add_help=False)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--slack', type=float, default=5)
    parser.add_argument('--keep')
    parser.add_argument('--hook', action='append')
    parser.add_argument('-h', '--help', action='store_true')
    parser.add_argument('paths', nargs='*')
    options = parser.parse_args()
    if options.help:
        print(__doc__, end='')
        sys.exit(0)
    if len(options.paths) != 3:
        parser.error('wants STEPS COUNTS BUILD')
    return options


def main():
    options = arguments()
    steps, counts, build = options.paths
    self_test()
    if not shutil.which('valgrind'):
        print('skipped: no valgrind')
        return 77
    builds = {}
    if os.path.exists(counts):
        with open(counts, encoding='utf-8') as f:
            builds = parse(f.read())
    known = builds.get(build, {})
    if not known and not options.update:
        print(f'skipped: nothing counted yet for {build}; --update does')
        return 77
    counted = {hook: count(steps, hook, options.keep)
               for hook in options.hook or HOOKS}
    faults = table(counted, known, options.slack)
    if not options.update:
        if faults:
            print(f'{len(faults)} of {len(counted)} hooks take more than '
                  f'{options.slack:g} % more')
        return 1 if faults else 0
    builds[build] = dict(known, **counted)
    with open(counts, 'w', encoding='utf-8') as f:
        f.write(render(builds))
    return 0


if __name__ == '__main__':
    sys.exit(main())
