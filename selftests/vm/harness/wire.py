# SPDX-License-Identifier: GPL-2.0
"""What leads out of a VM: its Ethernet, and its channels to the driver."""

import json
import os
import random
import selectors
import socket

from .qemu import LOST_KICKS

SO_RCVBUFFORCE = 33


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
        if vms <= 2:
            back = f"dgram,id=n0,local.type=fd,local.str={self.socks[node].fileno()}"
        else:
            back = f"socket,id=n0,mcast={self.group},localaddr=127.0.0.1"
        # The guest gives itself an address of its own: one snapshot serves all nodes.
        return ["-netdev", back, "-device",
                f"virtio-net-pci,netdev=n0,mac=52:54:00:77:00:fe,romfile=,{LOST_KICKS}"]

    def fds(self, node):
        return [self.socks[node].fileno()] if self.socks else []

    def close(self):
        for sock in self.socks:
            sock.close()


class Channel:
    """A Unix socket we listen on and QEMU connects to; calls take(bytes)."""

    def __init__(self, loop, path, take=None):
        self.loop, self.path, self.peer = loop, path, None
        self.take = take or (lambda data: None)
        self.unsent = bytearray()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        loop.register(self.listener, selectors.EVENT_READ, self.accept)

    def accept(self, _mask):
        self.peer, _ = self.listener.accept()
        self.peer.setblocking(False)
        self.loop.register(self.peer, selectors.EVENT_READ, self.ready)
        self.flush()

    def ready(self, mask):
        if mask & selectors.EVENT_WRITE:
            self.flush()
        if mask & selectors.EVENT_READ:
            self.read()

    def read(self):
        try:
            data = self.peer.recv(1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self.take(data)
            return True
        self.hang_up()
        return False

    def hang_up(self):
        self.loop.unregister(self.peer)
        self.peer.close()
        self.peer = None

    def send(self, data):
        """Now, or when QEMU is there and the VM takes it."""
        self.unsent += data
        self.flush()

    def flush(self):
        if not self.peer:
            return
        try:
            while self.unsent:
                with memoryview(self.unsent)[:1 << 18] as piece:
                    sent = self.peer.send(piece)
                del self.unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()
        want = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)
        self.loop.modify(self.peer, want, self.ready)

    def drain(self):
        """Takes what is still in the socket after QEMU's end."""
        while self.peer and self.read():
            pass

    def close(self):
        if self.peer:
            self.hang_up()
        self.loop.unregister(self.listener)
        self.listener.close()
        os.unlink(self.path)


class Monitor(Channel):
    """QEMU's own control channel (QMP)."""

    def __init__(self, loop, path):
        super().__init__(loop, path, self.hear)
        self.partial, self.answers = b"", []
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.send(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")

    def hear(self, data):
        *lines, self.partial = (self.partial + data).split(b"\n")
        self.answers += [json.loads(line) for line in lines if line.strip()]


class Files:
    """Receives "SIZE\\n" and as many bytes, into a file."""

    LIMIT = 256 << 20

    def __init__(self, path):
        self.path, self.head, self.size, self.have, self.file = path, b"", None, 0, None

    def take(self, data):
        if self.size is None:
            self.head += data
            line, newline, data = self.head.partition(b"\n")
            if not newline:
                return
            self.size = int(line) if line.isdigit() else -1
            if 0 <= self.size <= self.LIMIT:
                self.file = open(self.path, "wb")
        if self.file and data:
            self.file.write(data)
            self.have += len(data)

    def close(self):
        """What is wrong with it; empty: nothing, or nothing was sent."""
        if self.file:
            self.file.close()
        if self.size is None:
            return f"'{self.head[:40].decode(errors='replace')}' is no size" if self.head else ""
        if self.file is None:
            return f"no size, or more than {self.LIMIT} bytes: {self.head[:40].decode(errors='replace')}"
        return f"{self.have} of {self.size} bytes came" if self.have != self.size else ""
