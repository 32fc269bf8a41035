# SPDX-License-Identifier: GPL-2.0
"""A barrier says in a comment what it pairs with."""

import re

from lintlib import code, files, finish, line_of, report, text

BARRIER = re.compile(r"\b(smp_(?:mb|rmb|wmb|store_release|load_acquire|store_mb|acquire__after_ctrl_dep|"
                     r"mb__(?:before|after)_\w+|cond_load_acquire)|(?:dma_)?(?:rmb|wmb|mb)|"
                     r"atomic(?:64|_long)?_\w+_(?:acquire|release)|(?:clear|test_and_set)_bit_(?:unlock|lock)|"
                     r"(?:cmp)?xchg_(?:acquire|release)|wq_has_sleeper)\s*\(")
ABOVE = 8

for name in files("kmod/*.c", "kmod/*.h"):
    src = text(name)
    plain = code(src)
    lines = src.split("\n")
    for m in BARRIER.finditer(plain):
        line = line_of(plain, m.start())
        near = "\n".join(lines[max(0, line - 1 - ABOVE):line + 1])
        if not re.search(r"pairs?\s+(?:\*\s*)?with", near, re.I):
            report(name, line, f"{m.group(1)}() without a comment that says what it pairs with")
finish()
