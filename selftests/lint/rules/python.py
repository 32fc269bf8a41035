# SPDX-License-Identifier: GPL-2.0
"""Every Python file compiles."""

import warnings

from lintlib import finish, listing, report, shebang, text

warnings.simplefilter("error")
for name in listing():
    if not name.endswith(".py") and "python" not in shebang(name):
        continue
    try:
        compile(text(name), name, "exec", dont_inherit=True)
    except (SyntaxError, SyntaxWarning, DeprecationWarning, ValueError) as err:
        report(name, getattr(err, "lineno", None) or 1, f"{getattr(err, 'msg', None) or err}")
finish()
