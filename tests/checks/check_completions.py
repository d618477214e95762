#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_completions.py FOLDER PROGRAM...

bash completes every long option that a program's --help names, and no other; where
--help lists commands, those of each. FOLDER has the completions, each under the name of
its program.
"""

import os
import re
import subprocess
import sys

OPTION = re.compile(r'^ +(?:-\w, +)?(--[a-z-]+)', re.MULTILINE)
COMMAND = re.compile(r'^ {2}([a-z]+) {2,}\w', re.MULTILINE)
ALWAYS = {'--help', '--version'}
ASK = '''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function
printf '%s\\n' "${COMPREPLY[@]}"
'''


def completed(script, *words):
    return set(subprocess.run(
        ['bash', '--norc', '-c', ASK, '-', script, *words], text=True,
        check=True, stdout=subprocess.PIPE).stdout.split())


def helped(program, *command):
    return subprocess.run([program, *command, '--help'], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def check(script, program):
    name = os.path.basename(program)
    said = helped(program)
    commands = COMMAND.findall(said) if 'COMMAND' in said else []
    faults = []
    for command in [(c,) for c in commands] or [()]:
        wanted = set(OPTION.findall(helped(program, *command))) - ALWAYS
        offered = completed(script, name, *command, '--') - ALWAYS
        faults += [f'{" ".join((name, *command))}: {what} {o}'
                   for what, options in (('does not offer', wanted - offered),
                                         ('offers', offered - wanted))
                   for o in sorted(options)]
        if not command and not wanted:
            faults.append(f'{name}: --help names no options')
    return faults


def main():
    if len(sys.argv) < 3:
        print(__doc__, end='')
        return 2
    faults = []
    for program in map(os.path.abspath, sys.argv[2:]):
        script = f'{sys.argv[1]}/{os.path.basename(program)}'
        faults += check(script, program)
    for fault in faults:
        print(fault)
    print(f'completions: {len(sys.argv) - 2} programs, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
