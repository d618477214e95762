#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: run_models.py [-j N] [MODEL ...]

Verifies each model with spin, and demands that spin refutes each mutant: one that
passes would mean that the model does not show what it is there to show. Ends with
0, or 1 if any case failed, or 77 (skipped) without spin or a C compiler.
"""

import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
DEPTH = 20000
MEMORY_MB = 1500

Case = collections.namedtuple('Case', 'model defines refuted')


def holds(model, *variants):
    return [Case(model, v.split(), False) for v in variants]


def mutants(model, *variants):
    return [Case(model, v.split(), True) for v in variants]


CASES = (
    holds('lane', 'TSO', '', 'CAPACITY=3', 'TSO ADOPT', 'ADOPT',
          'TSO SEVERAL CAPACITY=3', 'SEVERAL CAPACITY=3',
          'TSO SEVERAL CAPACITY=3 ADOPT', 'SEVERAL CAPACITY=3 ADOPT') +
    mutants('lane',
            'NO_RELEASE_FENCE', 'NO_TAIL_RELEASE', 'SECOND_NOT_INTENDED',
            'SEVERAL CAPACITY=3 OTHERS_NOT_INTENDED',
            'TSO SEVERAL CAPACITY=3 OTHERS_NOT_INTENDED',
            'TAIL_FIRST', 'TSO TAIL_FIRST',
            'NO_TAIL_ACQUIRE', 'NO_ACQUIRE_FENCE', 'TSO NO_ACQUIRE_FENCE',
            'INTENT_EARLY', 'TSO INTENT_EARLY',
            'TAIL_AGAIN', 'TSO TAIL_AGAIN', 'ADOPT ADOPT_AS_IS') +
    holds('mirror', '', 'CAPACITY=2', 'LANES=2 CANCEL') +
    mutants('mirror',
            'FREE_KEEPS_GENERATION', 'NO_EQUAL_RULE', 'NO_GENERATION_RULE',
            'SCAN_BEFORE_TAILS', 'RECORD_FIRST',
            'LANES=2 CANCEL WRITING_IS_LIVE',
            'LANES=2 CANCEL NOOP_IS_NOTHING') +
    holds('nesting', '') +
    mutants('nesting', 'BY_INTENT', 'TAIL_READ_EARLY', 'LEAVE_EARLY') +
    holds('publish', 'READS=1', 'TSO LAST=2 READS=1', 'COPIES TSO',
          'COPIES LAST=4 READS=3', 'COPIES SUCCESSOR') +
    mutants('publish',
            'COPIES SUCCESSOR REPAIR', 'COPIES FLIP_BEFORE_END',
            'COPIES NO_COPY_FENCE', 'COPIES NO_COPY_RELEASE',
            'COPIES NO_ACTIVE_CHECK', 'COPIES ODD_IS_FINE',
            'COPIES NO_COPY_ACQUIRE',
            'NO_OBJECTS_FENCE', 'NO_ROW_FENCE', 'NO_ROW_RELEASE',
            'OBJECTS_ODD_LATE', 'OBJECTS_EVEN_EARLY',
            'NO_ROWS_ACQUIRE', 'CUT_BY_ITSELF') +
    holds('seat', '') +
    mutants('seat', 'RETURN_BEFORE_LEAVE', 'SIT_WITHOUT_CAS', 'REAP_OWN',
            'LOOK_BEFORE_BEFORE') +
    holds('supply', '', 'THREADS=3 CHANGES=2') +
    mutants('supply', 'NO_TAG', 'LINK_AFTER_CAS') +
    holds('object',
          # CBs, and kernels of different sizes
          'PUT_PUT ANY ORDER', 'REPLACE_REPLACE ANY ORDER',
          'REPLACE_REMOVE ANY ORDER', 'REMOVE_REMOVE ANY ORDER',
          'REMOVE_REUSE ANY ORDER', 'CYCLE_CYCLE ORDER', 'TWO_KEYS ANY ORDER',
          'PUT_CYCLE ANY ORDER', 'REPLACE_CYCLE ANY ORDER', 'PUT_UNDO ANY',
          'REPLACE_TWICE', 'TURN_WRAP ANY ORDER', 'PUT2_REMOVE',
          # buffers
          'PUT_PUT BOLD=1 ORDER', 'REPLACE_REPLACE BOLD=1 ORDER',
          'PUT_CYCLE BOLD=1 ORDER', 'REMOVE_REUSE BOLD=1 ORDER',
          'REPLACE_REMOVE BOLD=1', 'REPLACE_CYCLE BOLD=1', 'PUT_UNDO BOLD=1',
          # kernels of one size
          'LOAD2 ANY ORDER', 'LOAD2_TWICE ORDER', 'LOAD_OTHER ORDER',
          'LOAD_CYCLE ANY ORDER', 'LOAD2_UNLOAD', 'LOAD3') +
    mutants('object',
            'PUT_PUT NO_RESCAN', 'PUT_PUT BOLD=1 NO_RESCAN',
            'PUT_PUT NO_FENCE_AFTER_CAS', 'PUT_PUT BOLD=1 NO_FENCE_AFTER_CAS',
            'REMOVE_REMOVE ANY NO_ENTRY_STANDS',
            'REMOVE_REUSE ANY RECYCLE_BEFORE_CLEAR',
            'REMOVE_REMOVE FREE_WITHOUT_CAS', 'LOAD2 FREE_WITHOUT_CAS',
            'PUT_CYCLE ANY ORDER ENDS_ANY', 'LOAD_CYCLE ANY ORDER ENDS_ANY',
            'REPLACE_TWICE ANY ORDER STRICT TURN_OF_LAST') +
    holds('group',
          # octets and places are used again
          'REUSE ANY', 'LIVE_REUSE ANY', 'REUSE_OTHER ANY', 'REUSE_TWICE ANY',
          'MESH_MESH_FREE ANY', 'MESH_MESH_FREE ANY MEMBERS_BEFORE_ENTRY', 'MESH_MESH_MEMBER ANY', 'MESH_MESH_OTHER ANY',
          # rivals
          'MESH_SINGLE ANY', 'MESH_SINGLE_FREE', 'MESH_SINGLES', 'MESH_CYCLE',
          'LIVE_SINGLE_FREE ANY', 'LIVE_SINGLE_FREE ANY OCTETS_HIGH',
          'MESH_MESH', 'MESH_MESH_REMOVE') +
    mutants('group',
            'REUSE ANY NO_ENTRY_STANDS', 'MESH_MESH_FREE ANY NO_ENTRY_STANDS',
            'REUSE NO_USE_COUNT', 'MESH_MESH_FREE ANY MESH_NO_USE_COUNT',
            'REUSE NO_BIT', 'REUSE WORD_AFTER_SLOT',
            'MESH_MESH_FREE MEMBERS_BEFORE_ENTRY WORD_BEFORE_SLOTS',
            'MESH_SINGLE WORD_AFTER_LOOK',
            'REUSE CLAIM_WITHOUT_CAS', 'MESH_MESH_FREE CLAIM_WITHOUT_CAS',
            'REUSE DROPPED_AT_CLAIM', 'REUSE GOING_IGNORED',
            'REUSE PLAIN_END_ALWAYS', 'REUSE LEAVE_BEFORE_FREE',
            'REUSE LEAVE_WITHOUT_CAS', 'REUSE LEAVE_READ_AGAIN',
            'REUSE_TWICE ANY OCTET_BEFORE_CLEAR', 'REUSE LAST_DOES_NOT_CLEAR',
            'LIVE_SINGLE_FREE ANY ENDS_ANY',
            'MESH_SINGLE NO_SINGLES_ANNOUNCED',
            'MESH_SINGLE NO_GROUPS_ANNOUNCED',
            'MESH_SINGLE SINGLES_ANNOUNCED_LATE',
            'MESH_SINGLE GROUPS_ANNOUNCED_LATE',
            'MESH_SINGLE SINGLE_LOOKS_FIRST', 'MESH_SINGLE GROUP_LOOKS_FIRST',
            'MESH_MESH GROUP_LOOKS_FIRST'))


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)


def build(case, folder):
    """The verifier of a case; None, or what went wrong."""
    for name in os.listdir(HERE):
        if name.endswith(('.pml', '.h')):
            shutil.copy(os.path.join(HERE, name), folder)
    defines = ['-D' + d for d in case.defines]
    made = run(['spin', '-a', *defines, case.model + '.pml'], folder)
    if made.returncode != 0 or 'Error' in made.stdout:
        return made.stdout
    # These take longer to optimise than to run.
    optimise = {'object': '-O0', 'publish': '-O1',
                'group': '-O0' if case.refuted else '-O1'}.get(case.model,
                                                               '-O2')
    made = run(['gcc', optimise, '-w',
                '-DSAFETY', '-DCOLLAPSE', f'-DMEMLIM={MEMORY_MB}',
                '-o', 'pan', 'pan.c'], folder)
    return made.stdout if made.returncode != 0 else None


def judge(case, text):
    """(passed, what spin found)"""
    errors = re.search(r'errors: (\d+)', text)
    if not errors:
        return False, text[-500:]
    if errors[1] == '0':
        if re.search('search depth too small|out of memory|not completed|'
                     'MEMLIM', text):
            return False, 'the search was cut short'
        return not case.refuted, 'holds'
    found = re.search(r'^pan:1: (.*?)(?: \(at depth \d+\))?$', text,
                      re.MULTILINE)
    found = found[1] if found else 'error'
    # Only a claim of the model counts, not a slip of the model.
    good = case.refuted and found.startswith('assertion violated') and \
        'array index' not in found
    return good, found


def verify(case):
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fault = build(case, folder)
        if fault:
            return False, fault, 0, time.monotonic() - start
        text = run(['./pan', f'-m{DEPTH}'], folder).stdout
    states = re.search(r'(\d+) states, stored', text)
    passed, found = judge(case, text)
    return (passed, found, int(states[1]) if states else 0,
            time.monotonic() - start)


def arguments():
    """(jobs, models)"""
    words = sys.argv[1:]
    jobs = os.cpu_count() or 1
    if words[:1] == ['-j'] and len(words) > 1 and words[1].isdigit():
        jobs = int(words[1])
        words = words[2:]
    known = {c.model for c in CASES}
    if '-h' in words or '--help' in words:
        print(__doc__, end='')
        sys.exit(0)
    if jobs < 1 or any(w not in known for w in words):
        sys.exit(__doc__)
    return jobs, words or known


def main():
    jobs, models = arguments()
    for tool in ('spin', 'gcc'):
        if not shutil.which(tool):
            print(f'skipped: no {tool}')
            return SKIPPED
    failed = 0
    cases = [c for c in CASES if c.model in models]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case, result in zip(cases, pool.map(verify, cases)):
            passed, found, states, seconds = result
            failed += not passed
            name = f'{case.model} {" ".join(case.defines)}'.strip()
            print(f'{"ok  " if passed else "FAIL"} {name}: '
                  f'{"mutant, " if case.refuted else ""}{found}, '
                  f'{states} states, {seconds:.1f} s', flush=True)
    print(f'{len(cases) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
