# SPDX-License-Identifier: GPL-2.0
"""Runs the VMs of one scenario: QEMU processes, their channels, one event loop."""

import ctypes
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import time
import urllib.parse

from .judge import Boot

PR_SET_PDEATHSIG = 1
SO_RCVBUFFORCE = 33
# From the end marker to the end of QEMU.
POWEROFF_SECONDS = 15
# From the question what hangs to the end.
LAST_WORDS_SECONDS = 3


def die_with_parent():
    """No VM outlives its driver, however that one ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Wire:
    """The Ethernet between the VMs of a scenario.

    Two VMs: a pair of connected UDP sockets; one VM has the same, and nobody at
    the other end. More: a multicast group on loopback. Datagrams on purpose: a VM that stops reading loses frames, as on
    a switch, and does not hold up who sends to it.
    """

    def __init__(self, vms):
        self.socks = []
        if vms <= 2:
            self.socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
            for sock in self.socks:
                sock.bind(("127.0.0.1", 0))
                try:
                    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
                except OSError:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                os.set_inheritable(sock.fileno(), True)
            for a, b in (self.socks, reversed(self.socks)):
                a.connect(b.getsockname())
        else:
            low = [random.randint(1, 254) for _ in range(3)]
            self.group = f"239.{low[0]}.{low[1]}.{low[2]}:{random.randint(20000, 30000)}"

    def args(self, node, vms):
        mac = f"52:54:00:77:00:{node + 1:02x}"
        if vms <= 2:
            back = f"dgram,id=n0,local.type=fd,local.str={self.socks[node].fileno()}"
        else:
            back = f"socket,id=n0,mcast={self.group},localaddr=127.0.0.1"
        return ["-netdev", back, "-device", f"virtio-net-pci,netdev=n0,mac={mac},romfile="]

    def fds(self, node):
        return [self.socks[node].fileno()] if self.socks else []

    def close(self):
        for sock in self.socks:
            sock.close()


class Channel:
    """A Unix socket we listen on and QEMU connects to; calls take(bytes)."""

    def __init__(self, loop, path, take):
        self.loop, self.path, self.take, self.peer = loop, path, take, None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        loop.register(self.listener, selectors.EVENT_READ, self.accept)

    def accept(self):
        self.peer, _ = self.listener.accept()
        self.loop.register(self.peer, selectors.EVENT_READ, self.read)

    def read(self):
        try:
            data = self.peer.recv(65536)
        except OSError:
            data = b""
        if data:
            self.take(data)
        else:
            self.loop.unregister(self.peer)
            self.peer.close()
            self.peer = None

    def send(self, data):
        if self.peer:
            try:
                self.peer.sendall(data)
            except OSError:
                pass

    def drain(self):
        """Takes what is still in the socket after QEMU's end."""
        while self.peer:
            self.read()

    def close(self):
        if self.peer:
            self.loop.unregister(self.peer)
            self.peer.close()
        self.loop.unregister(self.listener)
        self.listener.close()
        os.unlink(self.path)


class Node:
    """One VM; after 'vm start' the same node boots again."""

    def __init__(self, run, number):
        self.run, self.number = run, number
        self.boot, self.process, self.finished = 0, None, []
        self.marked = self.asked = None

    @property
    def label(self):
        return f"node{self.number}" + (f".boot{self.boot}" if self.boot > 1 else "")

    @property
    def alive(self):
        return self.process is not None

    def out(self, what):
        return os.path.join(self.run.out, f"{self.label}.{what}")

    def start(self):
        self.boot += 1
        self.marked, self.asked, self.killed, self.partial = None, None, False, b""
        self.ktap_file = open(self.out("ktap"), "wb")
        sock = os.path.join(self.run.tmp, f"{self.number}-{self.boot}")
        loop = self.run.loop
        self.ktap = Channel(loop, sock + "k", self.take_ktap)
        self.ctl = Channel(loop, sock + "c", self.take_ctl)
        self.keys = Channel(loop, sock + "s", lambda data: None)
        self.qmp = Channel(loop, sock + "q", lambda data: None)
        self.requests = b""
        argv = self.argv(sock)
        with open(self.out("cmd"), "w", encoding="utf-8") as f:
            f.write(" ".join(argv) + "\n")
        stdio = None if self.run.shell and self.number == 0 else subprocess.DEVNULL
        with open(self.out("qemu"), "wb") as errors:
            self.process = subprocess.Popen(
                argv, stdin=stdio, stdout=stdio, stderr=None if stdio is None else errors,
                pass_fds=self.run.wire.fds(self.number), preexec_fn=die_with_parent)

    def argv(self, sock):
        s, run = self.run.scenario, self.run
        words = ["console=ttyS0", "panic=-1", "oops=panic", "nmi_watchdog=0", "net.ifnames=0",
                 "ipv6.disable_ipv6=0", "random.trust_cpu=on", "loglevel=7",
                 "cryptomgr.notests", "syscall.x32=y",
                 # A busy host makes the guest believe that its timer is broken, and panic.
                 "no_timer_check",
                 f"NODE={self.number}", f"NODES={s.vms}", f"BOOT={self.boot}",
                 f"SCALE={run.scale}", f"RXE={int(s.rxe)}", f"MODE={'shell' if run.shell else 'test'}"]
        if run.pattern:
            words.append(f"T={run.pattern.split()[0]}")
        words += s.cmdline.split()
        argv = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64,+rdrand", "-m", str(s.mem),
                "-smp", str(s.smp), "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-kernel", run.vmlinux, "-initrd", run.initrd,
                "-append", " ".join(words)]
        if run.shell and self.number == 0:
            argv += ["-serial", "mon:stdio"]
        elif run.shell:
            argv += ["-serial", f"unix:{self.out('serial')},server=on,wait=off"]
        else:
            argv += ["-serial", f"file:{self.out('console')}"]
        argv += ["-device", "virtio-serial-pci"]
        for nr, letter in ((1, "k"), (2, "c"), (3, "s")):
            argv += ["-chardev", f"socket,id={letter},path={sock}{letter}", "-device",
                     f"virtserialport,chardev={letter},nr={nr}"]
        argv += ["-chardev", f"socket,id=q,path={sock}q", "-mon", "chardev=q,mode=control"]
        return argv + run.wire.args(self.number, s.vms)

    # --- what the VM says ----------------------------------------------------

    def take_ktap(self, data):
        self.ktap_file.write(data)
        self.ktap_file.flush()
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            if line.startswith(b"# vm-end: "):
                self.marked = time.monotonic()
            if self.run.live:
                self.run.live(self.number, line.decode(errors="replace"))

    def take_ctl(self, data):
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split(" ")
            args = ["" if w == "%" else urllib.parse.unquote(w) for w in words[1:]]
            kind, text = self.run.answer(self, args)
            text = urllib.parse.quote(text, safe="/:.,=+-_@")
            self.ctl.send(f"{words[0]} {kind}{' ' + text if text else ''}\n".encode())

    def monitor(self, command, **arguments):
        self.qmp.send(json.dumps({"execute": "qmp_capabilities"}).encode())
        self.qmp.send(json.dumps({"execute": command, "arguments": arguments}).encode())

    # --- its end -------------------------------------------------------------

    def last_words(self):
        """Late: has the kernel say what is blocked. True when it had its time."""
        if self.asked is None:
            self.asked = time.monotonic()
            self.keys.send(b"w\n")
        return time.monotonic() > self.asked + LAST_WORDS_SECONDS

    def kill(self, on_purpose=False):
        self.killed = self.killed or on_purpose
        if self.process:
            self.process.kill()

    def reap(self, timed_out=False):
        """If QEMU has ended, closes the boot and keeps what the judge needs."""
        if not self.process or self.process.poll() is None:
            return
        self.process = None
        self.ktap.drain()
        for channel in (self.ktap, self.ctl, self.keys, self.qmp):
            channel.close()
        self.ktap_file.close()
        texts = []
        for what in ("ktap", "console"):
            try:
                with open(self.out(what), "rb") as f:
                    texts.append(f.read().decode(errors="replace"))
            except FileNotFoundError:
                texts.append("")
        if self.killed:
            ended = "killed"
        elif timed_out:
            ended = "timeout"
        else:
            ended = "poweroff" if "# vm-end: " in texts[0] else "died"
        dies = self.number in self.run.scenario.dies
        self.finished.append(Boot(self.label, texts[0], texts[1], ended, may_die=dies))


class Run:
    """One scenario, from boot to the texts the judge reads."""

    def __init__(self, scenario, vmlinux, initrd, out, tmp, **options):
        self.scenario, self.vmlinux, self.initrd = scenario, vmlinux, initrd
        self.out, self.tmp = out, tmp
        self.scale = options.get("scale", "0.05")
        longest = scenario.timeout + scenario.timeout_scaled * float(self.scale)
        self.timeout = longest * options.get("times", 1)
        self.pattern = options.get("pattern", "")
        self.shell = options.get("shell", False)
        self.live = options.get("live")
        self.loop = selectors.DefaultSelector()
        self.wire = Wire(scenario.vms)
        self.nodes = [Node(self, n) for n in range(scenario.vms)]
        self.values, self.arrivals, self.passed = {}, {}, {}

    # --- what scenarios ask for (vmctl) --------------------------------------

    def answer(self, node, args):
        verb, args = args[0], args[1:]
        handler = getattr(self, f"ask_{verb}", None)
        try:
            return handler(node, *args) if handler else ("no", f"unknown request {verb}")
        except (TypeError, ValueError, IndexError) as err:
            return "no", str(err)

    def ask_put(self, node, key, value):
        self.values[key] = value
        return "ok", ""

    def ask_get(self, node, key):
        return ("ok", self.values[key]) if key in self.values else ("wait", "")

    def ask_arrive(self, node, name):
        counts = self.arrivals.setdefault(name, [0] * len(self.nodes))
        counts[node.number] += 1
        return "ok", str(counts[node.number])

    def ask_passed(self, node, name, turn):
        """The dead are not waited for; who boots later does not close a barrier again."""
        counts = self.arrivals.setdefault(name, [0] * len(self.nodes))
        here = min((c for c, n in zip(counts, self.nodes) if n.alive), default=0)
        self.passed[name] = max(here, self.passed.get(name, 0))
        return ("ok" if self.passed[name] >= int(turn) else "wait"), ""

    def ask_vm(self, node, what, number):
        target = self.nodes[int(number)]
        if what == "kill":
            if target.number not in self.scenario.dies:
                return "no", f"the scenario's '# dies:' does not name {number}"
            target.kill(on_purpose=True)
        elif what == "start":
            if target.alive:
                return "no", f"node {number} is alive"
            target.start()
        elif what in ("stop", "cont"):
            target.monitor(what)
        elif what in ("plug", "unplug"):
            target.monitor("set_link", name="n0", up=what == "plug")
        elif what == "quit":
            target.killed = True
            target.monitor("quit")
        else:
            return "no", f"vm {what}?"
        return "ok", ""

    # --- the loop ------------------------------------------------------------

    def start(self):
        self.deadline = None if self.shell else time.monotonic() + self.timeout
        for node in self.nodes:
            node.start()

    def step(self, seconds=0.05):
        """Moves what is to be moved; false when every VM has ended."""
        for key, _ in self.loop.select(seconds):
            key.data()
        now = time.monotonic()
        for node in self.nodes:
            node.reap()
            late = self.deadline and now > self.deadline
            stuck = node.marked and now > node.marked + POWEROFF_SECONDS
            if node.alive and (stuck or (late and node.last_words())):
                self.out_of_time(node)
        if self.shell and not self.nodes[0].alive:
            return False
        return any(node.alive for node in self.nodes)

    def stop(self):
        for node in self.nodes:
            if node.alive:
                self.out_of_time(node)
        self.wire.close()
        self.loop.close()

    def boots(self):
        """What the judge reads, of every boot of every node."""
        found = [boot for node in self.nodes for boot in node.finished]
        for number in self.scenario.dies:
            # A node may boot several times; one of them must have been killed.
            of_node = [b for b in found if b.label.split(".")[0] == f"node{number}"]
            if of_node and not any(b.ended == "killed" for b in of_node):
                of_node[0].must_die = True
        return found

    @staticmethod
    def out_of_time(node):
        node.kill()
        node.process.wait()
        node.reap(timed_out=True)
