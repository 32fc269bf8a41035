# SPDX-License-Identifier: GPL-2.0
"""Kernels that have booted already: made once, kept by the hash of all that is in them.

A snapshot is taken when PID 1 waits for its scenario and knows nothing of it. There are two sorts. One has no modules but
those of the channels, no network address, no node number. The other is of one node, goes on from the first, and has the
node's address and RDMA device: loading those is half of what a short scenario costs. Its random numbers are its own, but
the same whenever it is used: a node that boots again in a scenario must not meet its former self's, and takes the first.
"""

import fcntl
import hashlib
import os
import selectors
import shlex
import tempfile
import time

from . import judge, qemu
from .image import BuildError, slurp
from .wire import Channel, Monitor, Wire

# Others' checkouts have theirs in the same cache; what nobody has used for so long goes.
KEEP_SECONDS = 4 * 86400


class Store:
    def __init__(self, cache, kernel, base, words, times, ready):
        self.cache, self.kernel, self.base, self.words, self.times = cache, kernel, base, words, times
        # What makes a VM one of the nodes.
        self.ready = ready
        self.digest = hashlib.sha256(slurp(kernel) + slurp(__file__) + slurp(qemu.__file__))
        self.digest.update(f"{base} {words} {qemu.version()}".encode())
        self.known = {}

    def get(self, mem, smp, lists, node=None):
        """Path of the snapshot of such a VM, or such a node, which is made if no run has made it yet."""
        if (mem, smp, node) not in self.known:
            first = self.get(mem, smp, lists) if node is not None else None
            self.known[mem, smp, node] = self.find(mem, smp, lists, node, first)
        return self.known[mem, smp, node]

    def find(self, mem, smp, lists, node, first):
        digest = self.digest.copy()
        digest.update(f"{mem} {smp}".encode())
        if first:
            digest.update(f" {node} ".encode() + self.ready.cpio.copy().bytes())
        path = os.path.join(self.cache, f"booted-{digest.hexdigest()[:24]}")
        with open(os.path.join(self.cache, "booted.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                self.prune()
                with tempfile.TemporaryDirectory(prefix="rdlock-boot.") as tmp:
                    make(path, Boot(self, tmp, mem, smp, node, first), lists, self.times)
            os.utime(path)
        return path

    def prune(self):
        for name in os.listdir(self.cache):
            path = os.path.join(self.cache, name)
            if name.startswith("booted-") and os.path.getmtime(path) < time.time() - KEEP_SECONDS:
                os.unlink(path)


class Boot:
    """The VM that the snapshot is taken of."""

    def __init__(self, store, tmp, mem, smp, node, first):
        self.loop, self.said, self.wire = selectors.DefaultSelector(), b"", Wire(1)
        sock = os.path.join(tmp, "s")
        self.console, self.errors = os.path.join(tmp, "console"), os.path.join(tmp, "qemu")
        self.channels = [Channel(self.loop, sock + name, self.take) for name in qemu.PORTS]
        self.monitor = Monitor(self.loop, sock + "monitor")
        argv = qemu.machine(store.kernel, mem, smp, store.words) + ["-initrd", store.base]
        argv += ["-serial", f"file:{self.console}"] + qemu.devices(sock, self.wire.args(0, 1))
        fds = self.wire.fds(0)
        if first:
            fds.append(os.open(first, os.O_RDONLY))
            argv += qemu.incoming(fds[-1])
            # Channels are in the order of the ports: the last is the payload's.
            self.channels[-1].send(store.ready.of_node({"NODE": node, "RXE": 1}))
        try:
            self.process = qemu.start(argv, self.errors, fds)
        finally:
            if first:
                os.close(fds[-1])

    def take(self, data):
        self.said += data

    def wait(self, seconds, what, done):
        end = time.monotonic() + seconds
        while not done():
            for key, mask in self.loop.select(0.05):
                key.data(mask)
            if time.monotonic() > end or self.process.poll() is not None:
                raise BuildError(f"no snapshot of a booted kernel: {what}\n{self.words()}")

    def words(self):
        return "\n".join(slurp(f).decode(errors="replace")[-2000:]
                         for f in (self.console, self.errors) if os.path.exists(f))

    def migrated(self):
        for answer in self.monitor.answers:
            if "error" in answer:
                raise BuildError(f"no snapshot of a booted kernel: {answer['error']}")
            status = answer.get("return", {}).get("status")
            if status == "failed":
                raise BuildError(f"no snapshot of a booted kernel: {answer}")
            if status == "completed":
                return True
        self.monitor.answers.clear()
        self.monitor.ask("query-migrate")
        return False

    def close(self):
        self.process.kill()
        self.process.wait()
        for channel in self.channels + [self.monitor]:
            channel.close()
        self.wire.close()
        self.loop.close()


def make(path, boot, lists, times):
    new = f"{path}.{os.getpid()}"
    try:
        boot.wait(60 * times, "it did not boot", lambda: b"vm-waits" in boot.said)
        # From these words to its waiting: nothing must be half done.
        settled = time.monotonic() + times
        boot.wait(3 * times, "", lambda: time.monotonic() > settled)
        bad = judge.splats(slurp(boot.console).decode(errors="replace"), *lists)
        if bad:
            raise BuildError(f"the kernel complains while it boots: {bad[0]}\n{boot.words()}")
        boot.monitor.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        boot.monitor.ask("migrate", uri=f"exec:cat >{shlex.quote(new)}")
        boot.wait(60 * times, "it was not written", boot.migrated)
        os.rename(new, path)
    finally:
        boot.close()
        if os.path.exists(new):
            os.unlink(new)
