# SPDX-License-Identifier: GPL-2.0
"""Every file says its licence in its first line (the second after #!), and the right one."""

import re

from lintlib import files, finish, report, text, text_files

# The licence text itself, and formats without comments.
EXEMPT = ("COPYING", "*.json")

TAG = re.compile(r"SPDX-License-Identifier: (.+?)\s*(?:\*/|-->)?$")
NOTE = "GPL-2.0 WITH Linux-syscall-note"

exempt = set(files(*EXEMPT))
for name in text_files():
    if name in exempt or not text(name):
        continue
    head = text(name).split("\n", 2)
    line = 1 if head[0].startswith("#!") and len(head) > 1 else 0
    m = TAG.search(head[line])
    want = NOTE if name.startswith("uapi/") else "GPL-2.0"
    if not m:
        report(name, line + 1, "no SPDX-License-Identifier")
    elif m.group(1) != want:
        report(name, line + 1, f"licence is {m.group(1)}, not {want}")
finish()
