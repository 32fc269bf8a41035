# SPDX-License-Identifier: GPL-2.0
"""Kernel builds and kernel source for the lint rules."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from lintlib import CACHE, ROOT


def build_dir():
    """Headers to build against: KDIR, else the newest 6.1 headers, else the running kernel's; None: there are none."""
    if os.environ.get("KDIR"):
        return Path(os.environ["KDIR"])
    found = glob.glob("/usr/src/linux-headers-6.1.*-amd64")
    found.sort(key=lambda p: [int(n) for n in re.findall(r"\d+", p)])
    found += glob.glob(f"/lib/modules/{os.uname().release}/build")
    for path in reversed(found[:-1] if len(found) > 1 and found[-1].startswith("/lib") else found):
        if (Path(path) / "Makefile").exists():
            return Path(path)
    return None


def release(headers):
    """What uname -r says of a kernel with these headers."""
    text = (headers / "include/generated/utsrelease.h").read_text()
    return re.search(r'UTS_RELEASE "(.*)"', text).group(1)


def mirror(names, tree):
    """Copy what changed and remove what is gone, so that the next build has little to do."""
    wanted = set()
    for name in names:
        to = tree / name
        wanted.add(to)
        new = (ROOT / name).read_bytes()
        if not to.exists() or to.read_bytes() != new:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(new)
    for old in list(tree.rglob("*")):
        if old.is_file() and old not in wanted and (old.suffix in (".c", ".h") and not old.name.endswith(".mod.c")
                                                    or old.name in ("Kbuild", "Makefile")):
            old.unlink()


def kernel_make(folder, args):
    make = subprocess.run(["make", "-C", str(build_dir()), f"M={folder}", "--no-print-directory", "-s"] + args,
                          env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return make.returncode, make.stdout.decode(errors="replace")


def kernel_doc():
    """The kernel-doc script: it comes with the headers."""
    for path in sorted(glob.glob("/usr/lib/linux-kbuild-*/scripts/kernel-doc")):
        return path
    kdir = build_dir()
    path = kdir and kdir / "scripts" / "kernel-doc"
    return str(path) if path and path.exists() else None


CHECKPATCH = ("scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch")


def checkpatch():
    """checkpatch.pl from the package linux-source-6.1, unpacked once; None: the package is not there."""
    tarball = Path("/usr/src/linux-source-6.1.tar.xz")
    if not tarball.exists():
        return None
    stat = tarball.stat()
    key = hashlib.sha256(f"{stat.st_size} {int(stat.st_mtime)}".encode()).hexdigest()[:12]
    place = CACHE / f"checkpatch-6.1-{key}"
    if not (place / "checkpatch.pl").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        tmp = Path(tempfile.mkdtemp(prefix="checkpatch-", dir=CACHE))
        left = set(CHECKPATCH)
        with tarfile.open(tarball, "r|xz") as tar:
            for member in tar:
                name = member.name.split("/", 1)[-1]
                if name in left:
                    (tmp / Path(name).name).write_bytes(tar.extractfile(member).read())
                    left.discard(name)
                    if not left:
                        break
        try:
            tmp.rename(place)
        except OSError:
            shutil.rmtree(tmp)
    return place / "checkpatch.pl"
