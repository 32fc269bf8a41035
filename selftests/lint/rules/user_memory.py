# SPDX-License-Identifier: GPL-2.0
"""The module touches user memory in kmod/dev.c only. Test modules have debugfs files of their own."""

import re

from lintlib import code, files, finish, line_of, report, text

WORDS = r"\b(__user|copy_(?:struct_)?(?:from|to)_user|get_user|put_user|clear_user|strncpy_from_user|strndup_user|" \
        r"memdup_user(?:_nul)?|kstrto\w+_from_user|u64_to_user_ptr|access_ok)\b"

for name in files("kmod/*.c", "kmod/*.h", exclude=("kmod/dev.c", "kmod/test/*")):
    src = code(text(name))
    for m in re.finditer(WORDS, src):
        report(name, line_of(src, m.start()), f"{m.group(1)} outside kmod/dev.c")
finish()
