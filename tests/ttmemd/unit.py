# SPDX-License-Identifier: Apache-2.0
"""What a systemd unit allows: read from it, and applied to a program.

As a program: unit.py CAPABILITIES SYSTEM-CALLS COMMAND..., both lists with commas. Root
runs the command with no more than these, others run it as it is.
"""

import ctypes
import errno
import os
import subprocess
import sys

PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 23, 24, 38
# Those that a ttmemd might have; see capabilities(7).
CAPABILITIES = {'cap_chown': 0, 'cap_dac_override': 1,
                'cap_dac_read_search': 2, 'cap_fowner': 3, 'cap_kill': 5,
                'cap_sys_ptrace': 19, 'cap_sys_resource': 24, 'cap_lease': 28}
SCMP_ACT_ALLOW, SCMP_ACT_ERRNO = 0x7fff0000, 0x00050000


def settings(path):
    """{name: [value]} of all sections, in their order."""
    found = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            name, is_setting, value = line.strip().partition('=')
            if is_setting and not name.startswith('#'):
                found.setdefault(name, []).append(value)
    return found


def capabilities(unit):
    return settings(unit)['CapabilityBoundingSet'][-1].lower().split()


def expand(name):
    """The system calls of a name or a @set."""
    if not name.startswith('@'):
        return {name}
    said = subprocess.run(['systemd-analyze', '--no-pager', 'syscall-filter',
                           name], check=True, text=True, capture_output=True)
    calls = set()
    for line in said.stdout.splitlines()[1:]:
        if line.strip() and not line.strip().startswith('#'):
            calls |= expand(line.strip())
    return calls


def system_calls(unit):
    """Those that it allows: its lines are added and taken off, one by one."""
    calls = {'execve', *expand('@default')}
    for line in settings(unit)['SystemCallFilter']:
        some = set()
        for name in line.removeprefix('~').split():
            some |= expand(name)
        calls = calls - some if line.startswith('~') else calls | some
    return calls


def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), str(function))


def drop_capabilities(libc, kept):
    numbers = [CAPABILITIES[name] for name in kept]
    number = 0
    while libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0:
        if number not in numbers:
            call(libc.prctl, PR_CAPBSET_DROP, number, 0, 0, 0)
        number += 1


def filter_calls(names):
    seccomp = ctypes.CDLL('libseccomp.so.2', use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(SCMP_ACT_ERRNO | errno.EPERM))
    for name in names:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # this machine has it
            call(seccomp.seccomp_rule_add, context, SCMP_ACT_ALLOW, number, 0)
    call(seccomp.seccomp_load, context)


def main():
    if len(sys.argv) < 4:
        print(__doc__, end='')
        return 2
    kept, names = (a.split(',') for a in sys.argv[1:3])
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        drop_capabilities(libc, kept)
        call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        filter_calls(names)
    os.execv(sys.argv[3], sys.argv[3:])
    return 1


if __name__ == '__main__':
    sys.exit(main())
