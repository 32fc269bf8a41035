# SPDX-License-Identifier: GPL-2.0
"""codespell finds no misspelt word."""

import subprocess

from lintlib import ROOT, fail_text, finish, need, text_files

# Names and abbreviations that codespell takes for misspelt words.
WORDS = "bjects,tiemout,inout,parm,hist,ser,nd,ot,te,ans"

need("codespell")
names = [n for n in text_files() if n != "COPYING"]
for start in range(0, len(names), 200):
    out = subprocess.run(["codespell", "--ignore-words-list", WORDS, "--quiet-level", "34"] + names[start:start + 200],
                         cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    fail_text(out.stdout)
finish()
