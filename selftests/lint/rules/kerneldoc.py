# SPDX-License-Identifier: GPL-2.0
"""Every kernel-doc comment of the public headers and of the module's .c files is well formed and complete.

The module's own headers are not asked: they describe several members in one line, for who reads the source."""

import subprocess

from kernel import kernel_doc
from lintlib import ROOT, fail_text, files, finish, need, skip

need("perl")
script = kernel_doc()
if not script:
    skip("needs linux-kbuild-6.1 (kernel-doc)")
names = files("kmod/*.c", "kmod/include/*.h", "uapi/*.h")
if names:
    out = subprocess.run(["perl", script, "-none", "-Werror"] + names, cwd=ROOT, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    lines = [s for s in out.stdout.splitlines() if not s.endswith("warnings as Errors")]
    fail_text("\n".join(lines))
    if out.returncode and not lines:
        fail_text(f"kmod:1: kernel-doc ended with {out.returncode}")
finish()
