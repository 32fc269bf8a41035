# SPDX-License-Identifier: GPL-2.0
"""Every ioctl and every exported symbol has a fail-nth case, and no case is of something that is gone."""

import re

from lintlib import code, files, finish, line_of, report, text

HEADER = "uapi/linux/rdlock.h"
USER = "selftests/fail_nth_test.c"
KERNEL = "kmod/test/rdlock_fail.c"


def found(pattern, names):
    """Name -> where it is defined."""
    places = {}
    for name in names:
        plain = code(text(name))
        for m in re.finditer(pattern, plain, re.M):
            places.setdefault(m.group(1), (name, line_of(plain, m.start())))
    return places


def compare(what, there, cases, case):
    for symbol, (name, line) in there.items():
        if symbol not in cases:
            report(name, line, f"{symbol}: no {case} says what happens to it without memory")
    for symbol, (name, line) in cases.items():
        if symbol not in there:
            report(name, line, f"{symbol}: there is no such {what}")
    if not there or not cases:
        report(name if there or cases else HEADER, 1, f"no {what} or no {case} found")


ioctls = found(r"^#define (RDLOCK_IOC_\w+)\s+_IO\w*\(", files(HEADER))
compare("ioctl", ioctls, found(r"^FAIL_NTH\((RDLOCK_IOC_\w+),", files(USER)), f"FAIL_NTH() in {USER}")

exports = found(r"^\s*RDLOCK_EXPORT\s*\(\s*(\w+)\s*\)", files("kmod/*.c", exclude=("kmod/test/*", "kmod/samples/*")))
compare("export", exports, found(r"^\s*FAIL_CASE\((\w+),", files(KERNEL)), f"FAIL_CASE() in {KERNEL}")
finish()
