# SPDX-License-Identifier: GPL-2.0
"""A goto label says what it undoes or does, or that it is the way out or around."""

import re

from lintlib import code, files, finish, line_of, report, text

VERBS = "err|out|undo|unlock|free|put|unref|drop|destroy|stop|kill|remove|unregister|unmap|dereg|close|cancel|fail|" \
        "release|unpin|disable|restore|reject|refuse|detach|flush|pause|next"
GOOD = re.compile(rf"^(?:(?:{VERBS})(?:_\w+)?|(?:\w+_)?again|retry|restart|found|later|bad)$")

for name in files("kmod/*.c", "kmod/*.h"):
    src = code(text(name))
    seen = set()
    for m in re.finditer(r"\bgoto\s+(\w+)\s*;", src):
        label = m.group(1)
        if not GOOD.match(label) and label not in seen:
            seen.add(label)
            report(name, line_of(src, m.start()), f"label {label} does not say what it undoes")
finish()
