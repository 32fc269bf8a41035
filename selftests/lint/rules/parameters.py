# SPDX-License-Identifier: GPL-2.0
"""Every module parameter has a description, and those of rdlock.ko stand in the admin guide."""

import re

from lintlib import code, files, finish, line_of, report, text

GUIDE = "Documentation/admin-guide.rst"
guide = "".join(text(n) for n in files(GUIDE))
for name in files("kmod/*.c"):
    src = code(text(name))
    for m in re.finditer(r"^\s*module_param(?:_named|_cb|_string|_array|_call|_unsafe|_hw)*\s*\(\s*(\w+)", src, re.M):
        param = m.group(1)
        line = line_of(src, m.start())
        if not re.search(rf"MODULE_PARM_DESC\s*\(\s*{param}\b", src):
            report(name, line, f"{param}: no MODULE_PARM_DESC")
        if not name.startswith(("kmod/test/", "kmod/samples/")) and f"``{param}``" not in guide:
            report(name, line, f"{param}: not in {GUIDE}")
finish()
