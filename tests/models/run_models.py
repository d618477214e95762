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
OPTIMISED = ('mirror', 'publish', 'seat')

Case = collections.namedtuple('Case', 'model defines refuted')


def holds(model, *variants):
    return [Case(model, v.split(), False) for v in variants]


def mutants(model, *variants):
    return [Case(model, v.split(), True) for v in variants]


CASES = (
    holds('lane', 'TSO', '', 'CAPACITY=3', 'TSO ADOPT', 'ADOPT') +
    mutants('lane',
            'NO_RELEASE_FENCE', 'NO_TAIL_RELEASE', 'SECOND_NOT_INTENDED',
            'TAIL_FIRST', 'TSO TAIL_FIRST',
            'NO_TAIL_ACQUIRE', 'NO_ACQUIRE_FENCE', 'TSO NO_ACQUIRE_FENCE',
            'INTENT_EARLY', 'TSO INTENT_EARLY',
            'TAIL_AGAIN', 'TSO TAIL_AGAIN', 'ADOPT ADOPT_AS_IS') +
    holds('mirror', 'LIVES=1', 'LANES=2', 'LANES=2 CAPACITY=2', 'NO_SHRINK',
          'LANES=2 CANCEL NO_SHRINK', 'LANES=2 CANCEL LIVES=1') +
    mutants('mirror',
            'NO_SHRINK FREE_KEEPS_GENERATION',
            'LIVES=1 SHRINK_KEEPS_GENERATION', 'LANES=2 SHRINK_KEEPS_BODY',
            'LANES=2 NO_EQUAL_RULE', 'LIVES=1 NO_GENERATION_RULE',
            'LANES=2 SCAN_BEFORE_TAILS', 'LIVES=1 RECORD_FIRST',
            'LANES=2 CANCEL WRITING_IS_LIVE',
            'LANES=2 CANCEL NOOP_IS_NOTHING') +
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
    holds('close',
          'ALLOC_CLOSE', 'SEVERAL_CLOSES', 'SAME_CLOSES', 'THREE_CLOSERS',
          'PARTS_CLOSE', 'REUSE_CLOSE', 'READ_CLOSE') +
    mutants('close',
            'ALLOC_CLOSE CLOSES_FIRST', 'SAME_CLOSES NO_HELP',
            'SEVERAL_CLOSES HELPS_COUNT_ONLY', 'SEVERAL_CLOSES CLEARED',
            'SEVERAL_CLOSES EPOCH_STORED', 'SEVERAL_CLOSES STAMP_IS_EPOCH',
            'ALLOC_CLOSE ALLOC_EPOCH_EARLY', 'REUSE_CLOSE FREE_EPOCH_EARLY',
            'REUSE_CLOSE FREE_CLOSES_EARLY', 'ALLOC_CLOSE COUNTS_ORPHANS',
            'READ_CLOSE READ_CLOSES_EARLY') +
    holds('object',
          'FREE_FREE', 'FREE_REUSE', 'TWO_IDS',
          'PART_PART', 'PARTS_OVERLAP', 'PARTS_THREE', 'PART_REUSE',
          'PART_REUSE_OTHER', 'TWO_PLACES', 'TWO_PLACES_OVERLAP') +
    mutants('object',
            'FREE_REUSE NO_ENTRY_STANDS', 'FREE_REUSE RECYCLE_BEFORE_CLEAR',
            'FREE_FREE FREE_WITHOUT_CAS', 'PARTS_OVERLAP COPY_ONCE',
            'PART_PART SHRINK_KEEPS_GENERATION',
            'PART_PART SHRINKS_COUNT_ALL') +
    holds('rivals',
          # circular buffers, and kernels of different sizes
          'PUT_PUT ANY ORDER', 'PUT_PUT LIVE ANY ORDER',
          'PUT_TWICE LIVE ORDER', 'PUT_FREE LIVE ANY ORDER',
          'PUT_CYCLE ANY ORDER', 'PUT_CYCLE LIVE ORDER',
          'PUT_CYCLE LIVE RANKS=4 ORDER', 'PUT_UNDO ORDER',
          'SHRINK LIVE ANY ORDER', 'SHRINK_FREE LIVE ANY ORDER',
          'SHRINK_CYCLE LIVE ORDER', 'PUT_SHRINK ORDER',
          # buffers
          'PUT_PUT BOLD=1 ORDER', 'PUT_FREE LIVE BOLD=1',
          'PUT_CYCLE BOLD=1 ORDER', 'SHRINK LIVE BOLD=1',
          'SHRINK_FREE LIVE BOLD=1', 'PUT_SHRINK BOLD=1 ORDER',
          # kernels of one size
          'PUT_PUT KERNELS=1 ANY ORDER', 'LOAD_TWICE KERNELS=1 ORDER',
          'LOAD_OTHER KERNELS=1 ORDER', 'PUT_CYCLE KERNELS=1 ANY ORDER',
          'PUT_SHRINK KERNELS=1 ANY ORDER',
          'PUT_SHRINK KERNELS=1 BOLD=1 ORDER',
          'SHRINK_CYCLE KERNELS=1 ANY ORDER') +
    mutants('rivals',
            'PUT_PUT NO_RESCAN', 'PUT_PUT BOLD=1 NO_RESCAN',
            'PUT_PUT BOLD=1 NO_FENCE_AFTER_CAS',
            'PUT_CYCLE KERNELS=1 ANY ORDER ENDS_ANY',
            'PUT_TWICE LIVE ANY ORDER RANK_OF_LAST',
            'PUT_PUT BOLD=1 ORDER RENEW_ANY',
            'PUT_PUT_SHRINK MAY_END_BY_W0',
            'SHRINK_FREE LIVE ANY ORDER MAY_END_BY_W0',
            'SHRINK LIVE COPY_ONCE',
            'SHRINK LIVE BOLD=1 WITHDRAW_SHRUNK',
            'SHRINK LIVE BOLD=1 WITHDRAW_OR_COUNT',
            'PUT_SHRINK KERNELS=1 ANY SHRUNK_IS_SAME'))


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)


def build(case, folder):
    """The verifier of a case; None, or what went wrong."""
    shutil.copy(os.path.join(HERE, case.model + '.pml'), folder)
    defines = ['-D' + d for d in case.defines]
    made = run(['spin', '-a', *defines, case.model + '.pml'], folder)
    if made.returncode != 0 or 'Error' in made.stdout:
        return made.stdout
    # Nearly all take longer to optimise than to run.
    optimise = '-O1' if case.model in OPTIMISED and not case.refuted else '-O0'
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
