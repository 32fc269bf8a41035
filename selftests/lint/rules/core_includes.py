# SPDX-License-Identifier: GPL-2.0
"""kmod/core includes its own headers only; plat.h alone looks outside."""

import re

from lintlib import ROOT, files, finish, line_of, report, text

own = {p.name for p in (ROOT / "kmod/core").glob("*.[ch]")}
for name in files("kmod/core/*.c", "kmod/core/*.h", exclude=("kmod/core/plat.h",)):
    src = text(name)
    for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+([<"][^>"]+[>"])', src, re.M):
        what = m.group(1)
        if what[0] == "<" or what.strip('"') not in own:
            report(name, line_of(src, m.start()), f"the core may not include {what}")
finish()
