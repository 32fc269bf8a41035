# SPDX-License-Identifier: GPL-2.0
"""What the lint rules share: the list of files, C without comments, reporting.

A rule is a program. It looks at the tree in $LINT_ROOT, prints one problem a line as "path:line: text", and ends with
0 (clean), 1 (problems) or 4 (skipped; the last line names what is missing). Scratch space is $LINT_BUILD, results that
depend on content only may be kept in $LINT_CACHE.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("LINT_ROOT") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("LINT_BUILD") or ROOT / "build" / "lint")
CACHE = Path(os.environ.get("LINT_CACHE") or
             Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rdlock")

FIXTURES = "selftests/lint/fixtures/"

_problems = 0
_listing = None


def listing():
    """All files of the tree that are, or could be, committed; without the fixtures, which are wrong on purpose."""
    global _listing
    if _listing is None:
        names = None
        if (ROOT / ".git").exists():
            out = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            if out.returncode == 0:
                names = out.stdout.decode().split("\0")
        if names is None:
            names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
            names = [n for n in names if not n.startswith(("build/", ".git/"))]
        _listing = sorted(n for n in set(names)
                          if n and n != "EXPECT" and not n.startswith(FIXTURES) and (ROOT / n).is_file()
                          and not (ROOT / n).is_symlink())
    return _listing


def files(*patterns, exclude=()):
    """Paths that match one of the patterns; '*' also crosses '/'."""
    return [n for n in listing() if any(fnmatch.fnmatchcase(n, p) for p in patterns)
            and not any(fnmatch.fnmatchcase(n, p) for p in exclude)]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def is_binary(name):
    with open(ROOT / name, "rb") as f:
        return b"\0" in f.read(4096)


def text_files():
    return [n for n in listing() if not is_binary(n)]


def shebang(name):
    with open(ROOT / name, "rb") as f:
        line = f.readline(200)
    return line.decode(errors="replace").strip() if line.startswith(b"#!") else ""


_token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code(src):
    """C source with comments and the insides of strings blanked; line numbers stay."""
    def blank(m):
        s = m.group(0)
        if s[0] in "\"'":
            return s[0] + " " * (len(s) - 2) + s[0]
        return re.sub(r"[^\n]", " ", s)
    return _token.sub(blank, src)


def line_of(src, offset):
    return src.count("\n", 0, offset) + 1


def report(name, line, message):
    global _problems
    _problems += 1
    print(f"{name}:{line}: {message}")


def fail_text(output):
    """Problems as another tool prints them."""
    global _problems
    for line in output.splitlines():
        if line.strip():
            _problems += 1
            print(line.replace(str(ROOT) + "/", ""))


def skip(reason):
    print(reason)
    sys.exit(4)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip(f"needs {tool}")


def finish():
    sys.exit(1 if _problems else 0)
