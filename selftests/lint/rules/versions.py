# SPDX-License-Identifier: GPL-2.0
"""Kernel versions are looked at in kmod/compat.h only."""

import re

from lintlib import code, files, finish, line_of, report, text

for name in files("*.c", "*.h", "*Kbuild", "kmod/*Makefile"):
    if name == "kmod/compat.h":
        continue
    src = code(text(name)) if name.endswith((".c", ".h")) else text(name)
    for m in re.finditer(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|LINUX_VERSION_(?:MAJOR|PATCHLEVEL|SUBLEVEL)|"
                         r"RHEL_RELEASE_CODE|VERSION|PATCHLEVEL)\b(?!\s*:?=)", src):
        if m.group(1) in ("VERSION", "PATCHLEVEL") and name.endswith((".c", ".h")):
            continue
        report(name, line_of(src, m.start()), f"{m.group(1)} outside kmod/compat.h")
finish()
