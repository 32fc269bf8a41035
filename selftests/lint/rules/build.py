# SPDX-License-Identifier: GPL-2.0
"""The modules build without a warning: gcc with W=1, and sparse."""

import re

from kernel import build_dir, kernel_make, mirror
from lintlib import BUILD, fail_text, files, finish, need, report, skip

need("make", "gcc", "sparse")
if not build_dir():
    skip("needs linux-headers-6.1-amd64")

names = files("kmod/*", "uapi/*", "Kbuild")
tree = BUILD / "tree"
mirror(names, tree)
kbuilds = [n for n in names if n.startswith("kmod/") and n.endswith(("/Kbuild", "/Makefile"))]
if not kbuilds:
    report("kmod/Kbuild", 1, "missing")
    finish()

# A folder that another Kbuild descends into is built with it.
inside = set()
for name in kbuilds:
    text = (tree / name).read_text()
    for sub in re.findall(r"(\S+)/(?=\s|$)", " ".join(re.findall(r"^obj-\S+\s*[:+]?=(.*)$", text, re.M))):
        inside.add(name.rsplit("/", 1)[0] + "/" + sub)
folders = sorted({n.rsplit("/", 1)[0] for n in kbuilds} - inside, key=lambda n: (n.count("/"), n))
if "Kbuild" in names:
    folders = ["."]

symvers = tree / "kmod/Module.symvers"
for folder in folders:
    args = ["W=1e", "C=1", "CF=-Wsparse-error", "CONFIG_DEBUG_INFO_BTF_MODULES=", "RDLOCK_BAD=m", "-j2", "-k"]
    if folder != "kmod" and symvers.exists():
        args.append(f"KBUILD_EXTRA_SYMBOLS={symvers}")
    status, output = kernel_make(tree / folder, args + ["modules"])
    noise = re.compile(r"^(make|\s*$)|Skipping BTF|vmlinux|Symbol version dump")
    lines = [s for s in output.splitlines() if not noise.search(s)]
    said = [s for s in lines if re.search(r"\b(warning|error)\b", s, re.I)]
    if status and not said:
        said = lines[-20:] or output.splitlines()[-20:] or [f"{folder}/Kbuild:1: the build failed and said nothing"]
    if said:
        fail_text("\n".join(said).replace(str(tree) + "/", ""))
finish()
