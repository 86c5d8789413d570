"""Makes the filter of system calls of a box: a program of the kernel's packet filter, which each call passes.

The first process of a box applies it to the program, so this imports little. Refused is what no bot needs and what
escapes from limits or reaches more of the kernel: memory that no limit counts, namespaces of its own, other processes'
memory, and sockets that are not of a network namespace, such as those between a virtual machine and its host.
"""

from __future__ import annotations

import errno
import os
import struct

_LOAD_CODE, _MASK_CODE, _RETURN_CODE = 0x20, 0x54, 0x06
_EQUAL_CODE, _GREATER_OR_EQUAL_CODE, _ANY_BIT_CODE = 0x15, 0x35, 0x45
"""Instructions of the filter, with the kernel's numbers: load a word, mask it, return, and three jumps."""
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
"""Places in what a filter sees of a call. An argument has 8 bytes, of which the lower 4 come first."""
_ALLOW, _REFUSE_WITH, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
"""Answers of the filter. `_REFUSE_WITH` is completed by an errno."""
_NEW_NAMESPACES = 0x7E020000
"""The flags of `clone` that make namespaces."""
_SHARED_ANONYMOUS = 0x21
"""The flags of `mmap` for memory without a file that processes share. No limit counts it."""
_SOCKET_FAMILIES = (1, 2, 10, 16)
"""The families of sockets that a namespace of the network encloses: Unix, IPv4, IPv6, netlink."""
_TERMINAL_INPUT_REQUESTS = (0x5412, 0x541C)
"""The requests of `ioctl` that type into a terminal."""
_X32_CALLS = 0x40000000
"""The first number of the calls of x32, a second set of them on x86-64."""

REFUSED_CALLS = (
    *("add_key", "bpf", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "inotify_init", "inotify_init1"),
    *("io_uring_enter", "io_uring_register", "io_uring_setup", "kcmp", "keyctl", "memfd_create", "memfd_secret"),
    *("mount", "mount_setattr", "move_mount", "mq_open", "msgget", "name_to_handle_at", "open_tree"),
    *("perf_event_open", "pidfd_getfd", "pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "request_key"),
    *("semget", "setns", "shmget", "syslog", "unshare", "userfaultfd"),
)
"""The names of the calls that are refused."""
_NEWER_CALLS = {
    "clone3": 435,
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "fspick": 433,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "io_uring_setup": 425,
    "memfd_secret": 447,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
    "pidfd_getfd": 438,
}
"""The numbers of newer system calls, which are the same on all machines."""
_X86_64 = {
    "add_key": 248,
    "bpf": 321,
    "clone": 56,
    "fanotify_init": 300,
    "inotify_init": 253,
    "inotify_init1": 294,
    "ioctl": 16,
    "kcmp": 312,
    "keyctl": 250,
    "memfd_create": 319,
    "mmap": 9,
    "mount": 165,
    "mq_open": 240,
    "msgget": 68,
    "name_to_handle_at": 303,
    "perf_event_open": 298,
    "pivot_root": 155,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "ptrace": 101,
    "request_key": 249,
    "semget": 64,
    "setns": 308,
    "shmget": 29,
    "socket": 41,
    "syslog": 103,
    "unshare": 272,
    "userfaultfd": 323,
}
_AARCH64 = {
    "add_key": 217,
    "bpf": 280,
    "clone": 220,
    "fanotify_init": 262,
    "inotify_init1": 26,
    "ioctl": 29,
    "kcmp": 272,
    "keyctl": 219,
    "memfd_create": 279,
    "mmap": 222,
    "mount": 40,
    "mq_open": 180,
    "msgget": 186,
    "name_to_handle_at": 264,
    "perf_event_open": 241,
    "pivot_root": 41,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "ptrace": 117,
    "request_key": 218,
    "semget": 190,
    "setns": 268,
    "shmget": 194,
    "socket": 198,
    "syslog": 116,
    "unshare": 97,
    "userfaultfd": 282,
}
CALL_NUMBERS = {"x86_64": {**_NEWER_CALLS, **_X86_64}, "aarch64": {**_NEWER_CALLS, **_AARCH64}}
"""The numbers of system calls by machine."""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's numbers of machines."""


def make_filter(machine: str = os.uname().machine) -> bytes:
    """Return the filter for a machine, 8 bytes an instruction; nothing for a machine whose calls are not known here."""
    if machine not in CALL_NUMBERS:
        return b""
    numbers = CALL_NUMBERS[machine]
    words = [
        _word(_LOAD_CODE, _ARCHITECTURE_AT),
        _word(_EQUAL_CODE, _ARCHITECTURES[machine], 1, 0),
        _word(_RETURN_CODE, _KILL),
        _word(_LOAD_CODE, _NUMBER_AT),
        _word(_GREATER_OR_EQUAL_CODE, _X32_CALLS, 0, 1),
        _refuse(errno.ENOSYS),
        *_if_call(numbers["clone3"], _refuse(errno.ENOSYS)),  # libraries then use `clone`, whose flags can be seen
    ]
    for name in REFUSED_CALLS:
        if name in numbers:
            words += _if_call(numbers[name], _refuse(errno.EPERM))
    words += _if_call(
        numbers["clone"], _load_argument(0), _word(_ANY_BIT_CODE, _NEW_NAMESPACES, 0, 1), _refuse(errno.EPERM), _allow()
    )
    words += _if_call(
        numbers["mmap"],
        *(_load_argument(3), _word(_MASK_CODE, _SHARED_ANONYMOUS), _word(_EQUAL_CODE, _SHARED_ANONYMOUS, 0, 1)),
        *(_refuse(errno.EPERM), _allow()),
    )
    families = [word for family in _SOCKET_FAMILIES for word in (_word(_EQUAL_CODE, family, 0, 1), _allow())]
    words += _if_call(numbers["socket"], _load_argument(0), *families, _refuse(errno.EAFNOSUPPORT))
    typing = [
        word
        for request in _TERMINAL_INPUT_REQUESTS
        for word in (_word(_EQUAL_CODE, request, 0, 1), _refuse(errno.EPERM))
    ]
    words += _if_call(numbers["ioctl"], _load_argument(1), *typing, _allow())
    return b"".join([*words, _allow()])


def _word(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return an instruction. A jump skips `if_true` or `if_false` instructions."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def _if_call(number: int, *words: bytes) -> list[bytes]:
    """Return instructions that are only followed for the call with this number."""
    return [_word(_EQUAL_CODE, number, 0, len(words)), *words]


def _load_argument(index: int) -> bytes:
    return _word(_LOAD_CODE, _ARGUMENTS_AT + 8 * index)


def _refuse(number: int) -> bytes:
    return _word(_RETURN_CODE, _REFUSE_WITH | number)


def _allow() -> bytes:
    return _word(_RETURN_CODE, _ALLOW)
