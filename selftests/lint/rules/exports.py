# SPDX-License-Identifier: GPL-2.0
"""Every exported symbol has kernel-doc with Context and Return, and goes out in the namespace."""

import re

from lintlib import code, files, finish, line_of, report, text

for name in files("kmod/*.c", "kmod/*.h", exclude=("kmod/compat.h",)):
    src = text(name)
    plain = code(src)
    for m in re.finditer(r"^\s*(RDLOCK_EXPORT|EXPORT_SYMBOL\w*)\s*\(\s*(\w+)", plain, re.M):
        macro, symbol = m.group(1), m.group(2)
        line = line_of(plain, m.start())
        if macro != "RDLOCK_EXPORT":
            report(name, line, f"{symbol}: {macro} instead of RDLOCK_EXPORT")
        doc = re.search(r"/\*\*\s*\n\s*\* " + symbol + r"(?:\(\))? - .*?\*/", src, re.S)
        if not doc:
            report(name, line, f"{symbol}: no kernel-doc")
            continue
        if "Context:" not in doc.group(0):
            report(name, line, f"{symbol}: kernel-doc without Context:")
        void = re.match(r"\s*(?:\w+\s+)*?void\s+" + symbol + r"\s*\(", src[doc.end():])
        if not void and not re.search(r"\bReturn:", doc.group(0)):
            report(name, line, f"{symbol}: kernel-doc without Return:")
finish()
