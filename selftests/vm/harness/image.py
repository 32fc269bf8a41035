# SPDX-License-Identifier: GPL-2.0
"""What is in a VM: a base kept by the hash of its contents, and a payload.

What changes with every edit (our modules, programs and scripts) is a second
archive. A VM that boots finds it behind the base, and the kernel unpacks both;
one that is restored from a snapshot is sent it.
"""

import fnmatch
import hashlib
import os
import re
import shlex
import stat
import subprocess
import tempfile

# They draw random numbers when they are loaded: connection ids, for example. In a
# snapshot of a kernel that has them built in, all nodes would have the same.
DRAWING = {"ib_core", "ib_cm", "rdma_cm", "rdma_rxe"}

# The userland of a VM besides busybox; those marked ? only if the host has them.
TOOLS = ("/sbin/ip", "/sbin/tc", "/bin/rdma", "/bin/ss", "?/usr/sbin/nft")


class BuildError(Exception):
    """Something an image needs is not there."""


class Cpio:
    """Writes the newc format; every file is root's and of the epoch."""

    def __init__(self):
        self.parts, self.dirs, self.inode = [], set(), 0

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        self.inode += 1
        raw = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        head = "070701" + "".join(f"{v:08x}" for v in (
            self.inode, mode, 0, 0, links, 0, len(data), 0, 0, *rdev, len(raw), 0))
        entry = head.encode() + raw
        entry += b"\0" * (-len(entry) % 4) + data
        self.parts.append(entry + b"\0" * (-len(entry) % 4))

    def mkdir(self, path):
        path = path.strip("/")
        if path and path not in self.dirs:
            self.mkdir(os.path.dirname(path))
            self.dirs.add(path)
            self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, path, data, mode=0o644):
        self.mkdir(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFREG | mode, data)

    def symlink(self, path, target):
        self.mkdir(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def node(self, path, kind, major, minor):
        self.mkdir(os.path.dirname(path))
        self._entry(path.strip("/"), kind | 0o600, rdev=(major, minor))

    def copy(self):
        other = Cpio()
        other.parts, other.dirs, other.inode = list(self.parts), set(self.dirs), self.inode
        return other

    def bytes(self, block=512):
        self._entry("TRAILER!!!", 0)
        out = b"".join(self.parts)
        return out + b"\0" * (-len(out) % block)


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def libraries(program):
    return sorted(set(re.findall(r"(/\S+)\s+\(0x", run("ldd", program))))


def stripped(path):
    """A module without its debug information, which is most of it."""
    with tempfile.NamedTemporaryFile(suffix=".ko") as out:
        subprocess.run(["strip", "--strip-debug", "-o", out.name, path], check=True)
        return slurp(out.name)


class Modules:
    """What modules.dep of one kernel knows."""

    def __init__(self, root, release):
        self.root = os.path.join(root, "lib/modules", release)
        self.release = release
        self.deps, self.paths = {}, {}
        for line in slurp(os.path.join(self.root, "modules.dep")).decode().splitlines():
            path, _, deps = line.partition(":")
            self.paths[self.name(path)] = path
            self.deps[self.name(path)] = [self.name(d) for d in deps.split()]

    @staticmethod
    def name(path):
        return re.sub(r"\.ko.*", "", os.path.basename(path)).replace("-", "_")

    def closure(self, names):
        """Dependencies first."""
        order = []
        for name in names:
            for dep in self.closure(self.deps.get(name, [])) + [name]:
                if dep in self.paths and dep not in order:
                    order.append(dep)
        return order


def module_list(path):
    """{word: [names]} and the set of those that must exist."""
    words, must = {"boot": [], "rxe": [], "have": []}, set()
    for line in slurp(path).decode().splitlines():
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        words[fields[0].rstrip("!")].append(fields[1])
        if fields[0].endswith("!"):
            must.add(fields[1])
    return words, must


class Payload:
    """The archive of one scenario; each boot of a node has a few words more."""

    def __init__(self, cpio):
        self.cpio = cpio

    def of_node(self, environment):
        cpio = self.cpio.copy()
        words = "".join(f"export {k}={shlex.quote(str(v))}\n" for k, v in environment.items())
        cpio.file("vm/environment", words.encode())
        # Nodes that come from one snapshot have one random state until they have this.
        cpio.file("vm/seed", os.urandom(64), 0o600)
        # To its last byte: what cpio leaves unread would be in the way of another archive.
        return cpio.bytes(block=4)


class Image:
    def __init__(self, source, build, cache, kernel_dir, release):
        self.source, self.build, self.cache = source, build, cache
        self.modules = Modules(kernel_dir, release)
        self.words, must = module_list(os.path.join(source, "modules"))
        builtin = slurp(os.path.join(self.modules.root, "modules.builtin")).decode()
        builtin = {Modules.name(l) for l in builtin.split()}
        self.drawn_early = sorted(DRAWING & builtin)
        for name in must - builtin:
            if name not in self.modules.paths:
                raise BuildError(f"the kernel has no module {name}")

    def names(self, word):
        """Those of modules that the kernel has as modules; others are built in, or passed over."""
        return (" ".join(n for n in self.words[word] if n in self.modules.paths) + "\n").encode()

    def base(self):
        """Path of the base archive, made if no run has made it yet."""
        busybox = "/bin/busybox" if os.path.exists("/bin/busybox") else "/usr/bin/busybox"
        if not os.path.exists(busybox) or libraries(busybox):
            raise BuildError("no static busybox: run scripts/deps vm")
        names = self.modules.closure(n for w in self.words.values() for n in w)
        files = {"bin/busybox": busybox}
        for tool in TOOLS:
            path = tool.lstrip("?")
            if not os.path.exists(path):
                if tool.startswith("?"):
                    continue
                raise BuildError(f"no {path}: run scripts/deps vm")
            # ash finds its own applets first; scenarios call these by path.
            files["sbin/" + os.path.basename(path)] = path
            files.update((lib.lstrip("/"), lib) for lib in libraries(path))
        for name in names:
            path = self.modules.paths[name]
            files[f"lib/modules/{self.modules.release}/{path}"] = \
                os.path.join(self.modules.root, path)

        digest = hashlib.sha256(slurp(__file__))
        contents = {"init": slurp(os.path.join(self.source, "init")), "etc/modules.boot": self.names("boot")}
        for inside, path in sorted(files.items()):
            contents[inside] = slurp(path)
        for inside, data in sorted(contents.items()):
            digest.update(inside.encode() + b"\0" + data)
        out = os.path.join(self.cache, f"base-{digest.hexdigest()[:24]}.cpio")
        if not os.path.exists(out):
            self._write_base(out, contents, busybox, names)
        return out

    def _write_base(self, out, contents, busybox, names):
        cpio = Cpio()
        for folder in ("proc", "sys", "dev", "tmp", "root", "run", "mnt", "var", "etc"):
            cpio.mkdir(folder)
        cpio.node("dev/console", stat.S_IFCHR, 5, 1)
        cpio.node("dev/null", stat.S_IFCHR, 1, 3)
        cpio.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
        cpio.file("etc/group", b"root:x:0:\nuser:x:1000:\n")
        for inside, data in contents.items():
            cpio.file(inside, data, 0o755)
        for applet in run(busybox, "--list").split():
            if f"sbin/{applet}" not in contents and applet != "busybox":
                where = "sbin" if applet in ("modprobe", "insmod", "rmmod") else "bin"
                cpio.symlink(f"{where}/{applet}", "/bin/busybox")
        self._indexes(cpio, names)
        os.makedirs(self.cache, exist_ok=True)
        with open(f"{out}.{os.getpid()}", "wb") as f:
            f.write(cpio.bytes())
        os.rename(f"{out}.{os.getpid()}", out)

    def _indexes(self, cpio, names):
        """modules.dep and modules.alias of what is inside: modprobe reads them."""
        folder = f"lib/modules/{self.modules.release}"
        cpio.file(f"{folder}/modules.dep", self.dep_text(names).encode())
        wanted = set(names)
        for index in ("modules.alias", "modules.symbols"):
            text = slurp(os.path.join(self.modules.root, index)).decode()
            kept = [l for l in text.splitlines() if l.split()[-1] in wanted]
            cpio.file(f"{folder}/{index}", ("\n".join(kept) + "\n").encode())
        for index in ("modules.builtin", "modules.order"):
            cpio.file(f"{folder}/{index}", slurp(os.path.join(self.modules.root, index)))

    def dep_text(self, names):
        lines = []
        for name in names:
            deps = [self.modules.paths[d] for d in reversed(self.modules.closure([name])[:-1])]
            lines.append(f"{self.modules.paths[name]}: {' '.join(deps)}".rstrip())
        return "\n".join(lines) + "\n"

    # --- the payload -------------------------------------------------------

    def find_needs(self, needs):
        """{path inside: path here}, and our modules by name."""
        files, kos = {}, {}
        folders = [os.path.join(self.build, f"modules-{self.modules.release}"),
                   os.path.join(self.build, "selftests"), os.path.join(self.build, "userspace")]
        have = {}
        for folder in folders:
            for where, _, names in os.walk(folder):
                for name in names:
                    have.setdefault(name, os.path.join(where, name))
        for need in needs:
            if need.startswith("/"):
                files[need.lstrip("/")] = need
                files.update((lib.lstrip("/"), lib) for lib in libraries(need))
                continue
            hits = [n for n in have if fnmatch.fnmatch(n, need) and
                    (n.endswith(".ko") or os.access(have[n], os.X_OK))]
            if not hits:
                raise BuildError(f"needs {need}, and the build made none")
            for name in hits:
                if name.endswith(".ko"):
                    kos[Modules.name(name)] = have[name]
                else:
                    files[f"vm/{name}"] = have[name]
        return files, kos

    def our_modules(self, cpio, kos):
        """Puts our modules where modprobe looks, with what they depend on."""
        known = self.modules
        for name, path in kos.items():
            depends = run("modinfo", "-F", "depends", path).strip()
            known.paths[name] = f"extra/{name}.ko"
            known.deps[name] = [Modules.name(d) for d in depends.split(",") if d]
            for dep in known.deps[name]:
                if dep not in known.paths and dep not in kos:
                    raise BuildError(f"{name}.ko depends on {dep}, which the kernel does not have")
            cpio.file(f"lib/modules/{known.release}/extra/{name}.ko", stripped(path))
        names = known.closure(n for w in self.words.values() for n in w)
        everything = known.closure(names + list(kos))
        for name in everything:
            if name not in names and name not in kos:
                inside = f"lib/modules/{known.release}/{known.paths[name]}"
                cpio.file(inside, slurp(os.path.join(known.root, known.paths[name])))
        cpio.file(f"lib/modules/{known.release}/modules.dep",
                  self.dep_text(everything).encode())

    def network(self, cpio):
        cpio.file("vm/network", slurp(os.path.join(self.source, "network")))
        cpio.file("vm/modules.rxe", self.names("rxe"))

    def ready(self, vmctl):
        """The archive of a VM that becomes one of the nodes, and then waits for its scenario."""
        cpio = Cpio()
        cpio.file("vm/main", slurp(os.path.join(self.source, "ready")))
        cpio.file("vm/vmctl", slurp(vmctl), 0o755)
        self.network(cpio)
        return Payload(cpio)

    def payload(self, scenario, vmctl):
        cpio = Cpio()
        files, kos = self.find_needs(scenario.needs)
        cpio.file("vm/main", slurp(os.path.join(self.source, "main")))
        for name in ("lib.sh", "fabric.sh"):
            cpio.file(f"vm/{name}", slurp(os.path.join(self.source, name)))
        cpio.file("vm/profile", b". /vm/lib.sh\nPS1='node$NODE# '\n")
        cpio.file("vm/test.sh", slurp(scenario.path), 0o755)
        cpio.file("vm/vmctl", slurp(vmctl), 0o755)
        for hook in ("atstart", "atend"):
            if os.path.exists(os.path.join(self.source, hook)):
                cpio.file(f"vm/{hook}", slurp(os.path.join(self.source, hook)))
        self.network(cpio)
        for inside, path in sorted(files.items()):
            cpio.file(inside, slurp(path), 0o755)
        if kos:
            self.our_modules(cpio, kos)
        return Payload(cpio)
