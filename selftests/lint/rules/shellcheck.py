# SPDX-License-Identifier: GPL-2.0
"""shellcheck finds nothing in the shell scripts."""

import re
import subprocess

from lintlib import ROOT, fail_text, finish, listing, need, shebang

# SC1091: files that a script sources are checked on their own. SC2154: and may set variables for it.
# SC3043: 'local' is in every sh that the scripts meet (dash, busybox, bash).
# SC1010: 'done' is a word of the scenarios' language, too.
IGNORE = "SC1010,SC1091,SC2154,SC3043"

need("shellcheck")
scripts = [n for n in listing() if re.match(r"#!\s*(/usr)?/bin/(env )?(sh|bash|dash|ash|busybox sh)\b", shebang(n))]
scripts += [n for n in listing() if n.endswith(".sh") and n not in scripts]
if scripts:
    out = subprocess.run(["shellcheck", "-f", "gcc", "-e", IGNORE] + scripts, cwd=ROOT, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    fail_text(out.stdout)
finish()
