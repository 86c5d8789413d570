"""What programs of strangers try in a box, and what they are told: a table of attacks, which one program makes in turn.

Each attack is a piece of Python whose last value is `got`; what follows is the beginning of what it gets, or of the
error. `HERE` has what a test lays out for them outside the box. `call` makes a system call by its name.
"""

from __future__ import annotations

REFUSED = "PermissionError: [Errno 1]"
DENIED = "PermissionError: [Errno 13]"
MISSING = "FileNotFoundError"
READ_ONLY = "OSError: [Errno 30]"
NO_FAMILY = "OSError: [Errno 97]"

ATTACKS: dict[str, tuple[str, str | tuple[str, ...]]] = {
    # Files of others
    "the file of a token": ("got = open(HERE['secret']).read()", MISSING),
    "the folder of the runner": ("got = os.listdir(HERE['folder'])", MISSING),
    "the source of another bot": ("got = open(HERE['other']).read()", MISSING),
    "passwords": ("got = open('/etc/shadow').read()", MISSING),
    "users": ("got = open('/etc/passwd').read()", MISSING),
    "logs of the machine": ("got = os.listdir('/var/log')", MISSING),
    "homes": ("got = os.listdir('/home')", MISSING),
    "a link out of the box": ("os.symlink(HERE['secret'], '/tmp/s'); got = open('/tmp/s').read()", MISSING),
    "a path out of the box": ("got = open('/bot/../../..' + HERE['secret']).read()", MISSING),
    "the root of the first process": ("got = os.listdir('/proc/1/root')", DENIED),
    "a file by its handle": ("got = call('name_to_handle_at', -100, b'/bot', 0, 0, 0)", REFUSED),
    "its own folder, to write": ("got = open('/bot/new', 'w')", READ_ONLY),
    "its own program, to write": ("got = open('/bot/attacks.py', 'r+')", (READ_ONLY, DENIED)),
    "the system's programs, to write": ("got = open('/usr/bin/new', 'w')", (READ_ONLY, DENIED)),
    "the arena's code, to write": ("got = open(HERE['code'], 'r+')", (READ_ONLY, DENIED)),
    "the root folder, to write": ("got = os.mkdir('/new')", (READ_ONLY, DENIED)),
    "a hard link to its program": ("got = os.link('/bot/attacks.py', '/tmp/l')", ("OSError: [Errno 18]", REFUSED)),
    # Secrets of the arena
    "the environment of the arena": ("got = [name for name in os.environ if 'SECRET' in name]", "[]"),
    "the environment of the first process": ("got = open('/proc/1/environ').read()", DENIED),
    "the memory of the first process": ("got = open('/proc/1/mem', 'rb')", DENIED),
    "the streams of the first process": ("got = os.listdir('/proc/1/fd')", DENIED),
    "descriptors that it inherits": ("got = INHERITED", "[0, 1, 2]"),
    "a descriptor of the first process": ("got = call('pidfd_getfd', os.pidfd_open(1), 0, 0)", REFUSED),
    "the command lines of others": (
        "got = [p for p in os.listdir('/proc') if p.isdecimal() and b'pytest' in read(f'/proc/{p}/cmdline')]",
        "[]",
    ),
    # Other processes
    "a signal to the arena": ("got = os.kill(HERE['process'], 9)", "ProcessLookupError"),
    "a signal to the first process": ("got = os.kill(1, 9)", (REFUSED, "None")),
    "stopping the first process": ("got = os.kill(1, 19)", (REFUSED, "None")),
    "interrupting the first process": ("got = os.kill(1, 2)", (REFUSED, "None")),
    "its process group": ("signal.signal(15, signal.SIG_IGN); got = os.killpg(0, 0)", "None"),
    "ptrace": ("got = call('ptrace', 16, 1, 0, 0)", REFUSED),
    "reading a process": ("got = call('process_vm_readv', 1, 0, 0, 0, 0, 0)", REFUSED),
    "comparing processes": ("got = call('kcmp', 1, os.getpid(), 0, 0, 0)", REFUSED),
    # Rights and namespaces
    "becoming root": ("got = os.setuid(0)", (REFUSED, "OSError: [Errno 22]")),
    "a group of root's": ("got = os.setgroups([0])", REFUSED),
    "rights by programs": ("got = [w for w in status() if w.startswith('NoNewPrivs')]", "['NoNewPrivs:\\t1']"),
    "capabilities": ("got = [w for w in status() if w.startswith('CapEff')]", "['CapEff:\\t0000000000000000']"),
    "a device": ("got = os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))", REFUSED),
    "a user namespace": ("got = call('unshare', 0x10000000)", REFUSED),
    "a user namespace by clone": ("got = call('clone', 0x10000011, 0, 0, 0, 0)", REFUSED),
    "a network namespace by clone": ("got = call('clone', 0x40000011, 0, 0, 0, 0)", REFUSED),
    "clone3": ("got = call('clone3', 0, 0)", "OSError: [Errno 38]"),
    "a namespace of the first process": ("got = call('setns', os.pidfd_open(1), 0x20000)", REFUSED),
    "mounting": ("got = call('mount', b'x', b'/tmp', b'tmpfs', 0, 0)", REFUSED),
    "mounting by descriptor": ("got = call('fsopen', b'tmpfs', 0)", REFUSED),
    "another root": ("got = os.chroot('/tmp')", REFUSED),
    "the name of the machine": ("import socket; got = socket.sethostname('mine')", REFUSED),
    "the clock": ("got = time.clock_settime(time.CLOCK_REALTIME, 0)", REFUSED),
    # The kernel
    "keys of a session": ("got = call('add_key', b'user', b'k', b'v', 1, -3)", REFUSED),
    "reading keys": ("got = call('keyctl', 0, -3, 0, 0, 0)", REFUSED),
    "programs in the kernel": ("got = call('bpf', 0, 0, 0)", REFUSED),
    "performance counters": ("got = call('perf_event_open', 0, 0, -1, -1, 0)", REFUSED),
    "faults in user space": ("got = call('userfaultfd', 1)", REFUSED),
    "queues in the kernel": ("got = call('io_uring_setup', 1, 0)", REFUSED),
    "watching files": ("got = call('inotify_init1', 0)", REFUSED),
    "messages of the kernel": ("got = call('syslog', 3, 0, 0)", REFUSED),
    "settings of the kernel": ("got = open('/proc/sys/kernel/core_pattern', 'w')", (DENIED, READ_ONLY)),
    "the magic key": ("got = open('/proc/sysrq-trigger', 'w')", (DENIED, READ_ONLY, MISSING)),
    "memory of the kernel": ("got = open('/proc/kcore', 'rb').read(1)", (DENIED, REFUSED, MISSING, "b''")),
    "a disk": ("got = [d for d in os.listdir('/dev') if d.startswith(('sd', 'vd', 'nvme', 'mem', 'kmsg'))]", "[]"),
    "/sys": ("got = os.listdir('/sys')", MISSING),
    "control groups": ("got = open('/sys/fs/cgroup/cgroup.procs', 'w')", MISSING),
    "calls of 32 bits": ("got = call(0x40000000 + 39)", "OSError: [Errno 38]"),
    # The network
    "a port of this machine": ("got = socket.create_connection(('127.0.0.1', HERE['port']))", "ConnectionRefusedError"),
    "another machine": ("got = socket.create_connection(('192.0.2.1', 80))", "OSError: [Errno 101]"),
    "a packet to another machine": (
        "got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "OSError: [Errno 101]",
    ),
    "names of machines": ("got = socket.getaddrinfo('example.org', 80)", "gaierror"),
    "raw packets": ("got = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", NO_FAMILY),
    "pings": ("got = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", REFUSED),
    "the host of a virtual machine": ("got = socket.socket(40, socket.SOCK_STREAM)", NO_FAMILY),
    "ciphers of the kernel": ("got = socket.socket(38, socket.SOCK_SEQPACKET)", NO_FAMILY),
    "an abstract socket of the arena": (
        "s = socket.socket(socket.AF_UNIX); got = s.connect('\\0' + HERE['abstract'])",
        "ConnectionRefusedError",
    ),
    # Priority and the terminal
    "the highest priority": ("got = os.nice(-20)", (REFUSED, DENIED)),
    "real time": ("got = os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9))", REFUSED),
    "a terminal": ("got = open('/dev/tty')", ("OSError: [Errno 6]", MISSING)),
    "typing into a terminal": ("import fcntl; got = fcntl.ioctl(0, 0x5412, b'x')", REFUSED),
    # Limits
    "a higher limit": (
        "import resource as r; got = r.setrlimit(r.RLIMIT_NPROC, (999, 999))",
        "ValueError: not allowed",
    ),
    "memory of one process": ("got = bytearray(2 << 30)", "MemoryError"),
    "memory without a name": ("got = os.memfd_create('x')", REFUSED),
    "secret memory": ("got = call('memfd_secret', 0)", REFUSED),
    "memory that processes share": ("import mmap; got = mmap.mmap(-1, 1 << 30)", REFUSED),
    "memory that processes share by a device": ("got = open('/dev/zero', 'r+b')", DENIED),
    "memory of System V": ("got = call('shmget', 0, 1 << 30, 0o1600)", REFUSED),
    "messages of System V": ("got = call('msgget', 0, 0o1600)", REFUSED),
    "semaphores of System V": ("got = call('semget', 0, 9, 0o1600)", REFUSED),
    "queues of messages": ("got = call('mq_open', b'q', 0o102, 0o600, 0)", REFUSED),
    "a large file": ("signal.signal(25, signal.SIG_IGN); got = fill('/tmp/a', 65)", "OSError: [Errno 27]"),
    "a full disk": ("fill('/tmp/a', 40); got = fill('/tmp/b', 40)", "OSError: [Errno 28]"),
    "full shared memory": ("fill('/dev/shm/a', 40); got = fill('/dev/shm/b', 40)", "OSError: [Errno 28]"),
    "many descriptors": ("got = [os.dup(0) for _ in range(2000)]", "OSError: [Errno 24]"),
    "huge arguments": ("got = os.execv('/bin/true', ['x' * (1 << 22)])", "OSError: [Errno 7]"),
    "a fork bomb": ("got = bomb()", "BlockingIOError"),
}

PROGRAM = r"""
import ctypes, json, os, signal, socket, sys, time
INHERITED = sorted(map(int, os.listdir("/proc/self/fd")))[:-1]
sys.path.append("/bot")
from call_numbers import NUMBERS
HERE = json.load(open("/bot/here.json"))
LIBC = ctypes.CDLL(None, use_errno=True)

def call(name, *args):
    number = NUMBERS[name] if isinstance(name, str) else name
    got = LIBC.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in args))
    if got == -1:
        raise OSError(ctypes.get_errno(), "")
    return got

def status():
    return open("/proc/self/status").read().splitlines()

def read(path):
    with open(path, "rb") as file:
        return file.read()

def fill(path, mib):
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, mib << 20)

def bomb():
    children = []
    try:
        while len(children) < 500:
            children.append(os.fork())
            if children[-1] == 0:
                signal.pause()
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)

def attempt(code):
    names = dict(globals())
    try:
        exec(code, names)
        return repr(names["got"])
    except BaseException as exc:
        return f"{type(exc).__name__}: {exc}"

def in_child(code):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, attempt(code).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as told:
        answer = told.read().decode()
    os.wait()
    for path in ("/tmp/a", "/tmp/b", "/dev/shm/a", "/dev/shm/b"):
        if os.path.exists(path):
            os.unlink(path)
    return answer or "it died"

print(json.dumps({name: in_child(code) for name, code in json.load(open("/bot/attacks.json")).items()}))
"""
"""The program that makes all attacks, each in a child of its own, and writes what they got."""
