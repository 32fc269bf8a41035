# SPDX-License-Identifier: GPL-2.0
"""The QEMU command line: the same for a VM that boots and for one that is restored."""

import ctypes
import os
import signal
import subprocess

PR_SET_PDEATHSIG = 1

# What each port of the VM is for, from /dev/vport0p1 on: KTAP, requests, sysrq
# keys, files that come back, and the scenario's own files on the way in.
PORTS = ("ktap", "control", "keys", "files", "payload")

WORDS = ["console=ttyS0", "panic=-1", "oops=panic", "nmi_watchdog=0", "net.ifnames=0",
         "ipv6.disable_ipv6=0", "random.trust_cpu=on", "loglevel=7",
         "cryptomgr.notests", "syscall.x32=y",
         # A busy host makes the guest believe that its timer is broken, and panic.
         "no_timer_check"]

# QEMU before 8.1 leaves a guest's memory barriers out when it has one processor, though devices run beside it: a
# notification may be lost. By flags it is made up for by the next one; by index there is no next one, and the queue
# stands still for ever.
LOST_KICKS = "event_idx=off"


def die_with_parent():
    """No VM outlives its driver, however that one ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def version():
    return subprocess.run(["qemu-system-x86_64", "--version"], stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout.splitlines()[0]


def machine(kernel, mem, smp, words):
    """All that the guest can see, but for its devices."""
    return ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64,+rdrand", "-m", str(mem),
            "-smp", str(smp), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", kernel, "-append", " ".join(WORDS + words)]


def devices(sock, net):
    """sock: the beginning of the channels' paths."""
    argv = ["-device", f"virtio-serial-pci,{LOST_KICKS}"]
    for nr, name in enumerate(PORTS, 1):
        argv += ["-chardev", f"socket,id={name},path={sock}{name}",
                 "-device", f"virtserialport,chardev={name},nr={nr}"]
    argv += ["-chardev", f"socket,id=monitor,path={sock}monitor", "-mon", "chardev=monitor,mode=control"]
    return argv + net


def incoming(fd):
    """To go on from a snapshot. What it would announce to the others is an address that no node has."""
    return ["-incoming", f"fd:{fd}", "-global", "migration.announce-rounds=0"]


def start(argv, errors, fds=(), stdio=subprocess.DEVNULL):
    with open(os.devnull if errors is None else errors, "wb") as err:
        return subprocess.Popen(argv, stdin=stdio, stdout=stdio, stderr=None if errors is None else err,
                                pass_fds=fds, preexec_fn=die_with_parent)
