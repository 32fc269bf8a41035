# SPDX-License-Identifier: GPL-2.0
"""Every ioctl is documented in the header and in uapi.rst, tested in abi_test.c, and in librdlock."""

import re

from lintlib import files, finish, line_of, report, text

HEADER = "uapi/linux/rdlock.h"
src = text(HEADER)
commands = {m.group(1): m.start() for m in re.finditer(r"^#define (RDLOCK_IOC_\w+)\s+_IO\w*\(", src, re.M)}
if not commands:
    report(HEADER, 1, "no RDLOCK_IOC_ commands found")

# "ioctl(RDLOCK_IOC_COUNTER_ADD, _CAS, _READ)" in a comment names three.
documented = set()
for comment in re.findall(r"/\*.*?\*/", src, re.S):
    for listed in re.findall(r"ioctl\(([^)]*)\)", comment):
        first = ""
        for word in re.findall(r"\w+", listed):
            if word.startswith("RDLOCK_IOC_"):
                first = word
                documented.add(word)
            elif word.startswith("_") and first:
                documented.add(first.rsplit("_", 1)[0] + word)
for name, start in commands.items():
    above = src[:start].rstrip()
    if name not in documented and not above.endswith("*/"):
        report(HEADER, line_of(src, start), f"{name}: no comment says what it does")


def named_in(name, place, paths):
    if not any(re.search(rf"\b{name}\b", text(p)) for p in paths):
        report(HEADER, line_of(src, commands[name]), f"{name}: not in {place}")


for name in commands:
    named_in(name, "Documentation/uapi.rst", files("Documentation/uapi.rst"))
    named_in(name, "selftests/abi_test.c", files("selftests/abi_test.c"))
    named_in(name, "userspace/lib", files("userspace/lib/*.c", "userspace/lib/*.h"))
    named_in(name, "kmod/dev*.c", files("kmod/dev*.c"))
finish()
