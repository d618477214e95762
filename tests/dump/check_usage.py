#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_usage.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

What is typed wrong is told, once, with status 2, and nothing happens; what there is is
in --help, in the man page, and completed by bash.
"""

import os
import re
import shutil
import subprocess
import sys

import dumps
from dumps import has, run
import serve

ROOT = os.environ['SOURCE_ROOT']
COMMANDS = ('report', 'check', 'run', 'diff', 'doctor', 'clean', 'schema')
WRONG = (
    ('nonsense',),
    ('--nonsense',),
    ('report', 'more'),
    ('--format', 'xml'),
    ('--format',),
    ('--device', ''),
    ('--device', 'x'),
    ('--device', '1,'),
    ('--device', '3-1'),
    ('--device', '4294967296'),
    ('--device', 'asic:'),
    ('--device', 'asic:xyz'),
    ('--device', 'pci:1'),
    ('--device', 'pci:00:00.9'),
    ('--device', 'pci:00:20.0'),
    ('--pid', '0'),
    ('--pid', '-1'),
    ('--pid', 'init'),
    ('--kind', 'sram'),
    ('--kind', 'dram,,l1'),
    ('--group-by', 'colour'),
    ('--top', '-1'),
    ('--top', 'some'),
    ('--bytes=yes',),
    ('--watch', '0'),
    ('--watch', '1e3'),
    ('--watch', 'x'),
    ('--count', '3'),
    ('--watch', '1', '--count', '0'),
    ('--watch', '1', '--from', 'file'),
    ('--from', 'file', '--dir', '/dev/shm'),
    ('--from', 'file', '--system'),
    ('--dir', 'relative'),
    ('--table', 'devices'),
    ('--format', 'csv', '--table', 'rows'),
    ('--format', 'json', '--top', '3'),
    ('--format', 'json', '--group-by', 'kind'),
    ('check', 'more'),
    ('check', '--errors-for', 'lost'),
    ('check', '--errors-for', ''),
    ('check', '--ignore-kind', 'sram'),
    ('check', '--max', 'dram'),
    ('check', '--max', 'dram=much'),
    ('check', '--max-peak', 'sram=1'),
    ('check', '--settle', '-1'),
    ('check', '--wait-pid', '0'),
    ('check', '--format', 'csv'),
    ('check', '--update-baseline'),
    ('check', '--strict-suppressions'),
    ('check', '--format', 'json', '--gen-suppressions'),
    ('check', '--from', 'file', '--ack'),
    ('check', '--from', 'file', '--settle', '1'),
    ('check', '--from', 'file', '--wait-pid', '1'),
    ('check', '--ack', '--scope', 'a'),
    ('check', '--all-users', '--user', '0'),
    ('check', '--user', 'nobody-has-this-name'),
    ('run', '--user', '0', '--', 'true'),
    ('check', '--ack', '--device', '0'),
    ('check', '--ack', '--since', 'a'),
    ('check', '--ack', '--ignore-kind', 'l1'),
    ('check', '--ack', '--errors-for', 'live'),
    ('check', '--max', 'dram=16384P'),
    ('check', '--max', 'dram=99999999999999999999'),
    ('check', '--max', 'dram=16777216T'),
    ('check', '--settle', '86401'),
    ('check', '--settle', 'inf'),
    ('check', '--group-by', 'kind'),
    ('run',),
    ('run', '--'),
    ('run', '--from', 'file', '--', 'true'),
    ('run', '--wait-pid', '1', '--', 'true'),
    ('diff',),
    ('diff', 'one'),
    ('diff', 'one', 'two', 'three'),
    ('doctor', 'more'),
    ('doctor', '--pid', '1,2'),
    ('doctor', '--pid', '1', '--pid', '2'),
    ('doctor', '--pid', '0'),
    ('doctor', '--pid', 'init'),
    ('clean', 'more'),
    ('clean', '--from', 'x'),
    ('schema', 'more'),
    ('--output', ''),
    ('--from', ''),
    ('check', '--baseline', ''),
    ('check', '--suppressions', ''),
    ('run', '--junit', '', '--', 'true'),
    ('run', '-o', '', '--', 'true'),
    ('run', '--ttmemd', '', '--', 'true'),
)


def check_wrong(place):
    place.serve()
    for options in WRONG:
        done = run(place, *options, status=2)
        lines = done.stderr.split('\n')
        if len(lines) != 2 or not lines[0].startswith('ttmem-dump: ') or \
                not lines[0].endswith('--help tells more') or done.stdout:
            serve.fail(f'{options}: {done.stdout}{done.stderr}')


def help_of(place, command):
    return run(place, *command, '--help').stdout


def options_in(text):
    return set(re.findall(r'(?<![\w-])--[a-z][a-z-]+', text))


def own_options(place, command):
    """What the text only mentions is not the command's own."""
    mentioned = {'schema': {'--format'}, 'diff': {'--format'}}
    return options_in(help_of(place, (command,))) - \
        mentioned.get(command, set())


# Where each command is tested.
TESTS = {'report': ('report', 'formats'), 'check': ('gate', 'doubts', 'users'),
         'run': ('run',), 'diff': ('tools',), 'doctor': ('tools',),
         'clean': ('tools',), 'schema': ('formats',)}


def check_each_option_is_tested(place):
    for command, names in TESTS.items():
        text = ''
        for name in names:
            with open(f'{ROOT}/tests/dump/check_{name}.py',
                      encoding='utf-8') as file:
                text += file.read()
        text = text.replace("'-o'", "'--output'")
        missing = {o for o in own_options(place, command) - {'--help'}
                   if f"'{o}'" not in text}
        serve.expect(f'options of {command} in no test', missing, set())


def check_wrong_values_have_the_name_of_their_option(place):
    for option in ('--max', '--max-peak'):
        for value in ('dram', 'sram=1', '=1'):
            done = run(place, 'check', option, value, status=2)
            has(done.stderr, f'ttmem-dump: {option}: ')


def check_help(place):
    for command in ((), *((c,) for c in COMMANDS)):
        text = help_of(place, command)
        has(text, 'usage: ttmem-dump')
        if max(map(len, text.split('\n'))) > 80:
            serve.fail(f'{command} --help is wider than 80')
        serve.expect('version', run(place, *command, '--version').stdout[:11],
                     'ttmem-dump ')
    for command in COMMANDS:
        has(help_of(place, ()), command)


def check_man_page(place):
    if not shutil.which('mandoc'):
        return
    text = subprocess.run(
        ['mandoc', '-Tascii', f'{ROOT}/man/ttmem-dump.1'], check=True,
        capture_output=True, text=True).stdout
    text = re.sub('.\b', '', text)
    for command in COMMANDS:
        missing = options_in(help_of(place, (command,))) - options_in(text)
        serve.expect(f'options of {command} not in the page', missing, set())


def completed(line):
    """What bash offers for the last word of the line."""
    words = line.split(' ')
    script = (f'. {ROOT}/completions/ttmem-dump; compopt() {{ :; }}; '
              'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ttmem_dump; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(['bash', '-c', script, 'bash', *words], check=True,
                          capture_output=True, text=True)
    serve.expect('said', done.stderr, '')
    return set(done.stdout.split())


def check_slips_are_answered(place):
    """With the closest valid word, or with all of them."""
    for arguments, answer in (
            (('chekc',), '(did you mean "check"?)'),
            (('xyz',), '(valid: report, '),
            (('--formta', 'json'), '(did you mean --format?)'),
            (('--bytes=yes',), '--bytes takes no value'),
            (('--kind', 'dran'), '(did you mean "dram"?)'),
            (('--kind', 'sram_x'), '(valid: dram, l1, '),
            (('check', '--errors-for', 'lost'), '(valid: orphaned, ')):
        has(run(place, *arguments, status=2).stderr, answer)


def check_completion(place):
    serve.expect('commands', completed('ttmem-dump '), set(COMMANDS))
    for command in COMMANDS:
        # What the text only mentions is not the command's own.
        serve.expect(command, completed(f'ttmem-dump {command} --'),
                     own_options(place, command) | {'--version'})
    serve.expect('kinds', completed('ttmem-dump --kind dram,l1'),
                 {'dram,l1', 'dram,l1_small'})
    for line in ('ttmem-dump --format ', 'ttmem-dump --format =',
                 'ttmem-dump --format = '):
        serve.expect('formats', completed(line), {'text', 'json', 'csv'})
    serve.expect('json', completed('ttmem-dump --format = j'), {'json'})
    serve.expect('classes', completed('ttmem-dump check --errors-for live,o'),
                 {'live,orphaned'})
    serve.expect('limits', completed('ttmem-dump check --max dr'), {'dram='})
    # Behind -- it is another command's.
    serve.expect('commands', 'bash' in completed('ttmem-dump run -- bas'),
                 True)
    serve.expect('files', completed(f'ttmem-dump run -- cat {ROOT}/READ'),
                 {f'{ROOT}/README.md'})
    serve.expect('options', completed('ttmem-dump run -- cat --'), set())


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_wrong, check_wrong_values_have_the_name_of_their_option,
        check_slips_are_answered,
        check_help, check_each_option_is_tested, check_man_page, check_completion)))
