# SPDX-License-Identifier: GPL-2.0
"""The modules build without a warning: gcc with W=1, and sparse."""

import os
import re
import subprocess
from pathlib import Path

from kernel import build_dir, release
from lintlib import BUILD, ROOT, fail_text, finish, need, report, skip

need("make", "gcc", "sparse")
headers = build_dir()
if not headers:
    skip("needs linux-headers-6.1-amd64")
if not (ROOT / "Kbuild").exists():
    report("Kbuild", 1, "missing")
    finish()

# The VMs' modules, which are built with the same warnings: what is compiled here is not compiled again there.
top = Path(__file__).resolve().parents[3]
out = top / "build" / f"modules-{release(headers)}" if ROOT == top else BUILD / "tree"
made = subprocess.run([str(top / "scripts/build-modules"), "--sparse", "--tree", str(ROOT), str(headers), str(out), "-j2", "-k", "-s",
                       "RDLOCK_BAD=m"],
                      env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
output = made.stdout.decode(errors="replace").replace(f"{out}/", "").splitlines()
noise = re.compile(r"^(make|\s*$)|Skipping BTF|vmlinux|Symbol version dump")
lines = [s for s in output if not noise.search(s)]
said = [s for s in lines if re.search(r"\b(warning|error)\b", s, re.I)]
if made.returncode and not said:
    said = lines[-20:] or output[-20:] or ["Kbuild:1: the build failed and said nothing"]
if said:
    fail_text("\n".join(said))
finish()
