# SPDX-License-Identifier: GPL-2.0
"""The documentation is well-formed reStructuredText."""

import os
import sys

from lintlib import ROOT, files, finish, report, skip

try:
    import docutils.core
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
except ImportError:
    # The package belongs to the system's Python, which need not be the first one in PATH.
    system = "/usr/bin/python3"
    if os.environ.get("LINT_RST_AGAIN") or not os.path.exists(system):
        skip("needs python3-docutils")
    os.environ["LINT_RST_AGAIN"] = "1"
    os.execv(system, [system] + sys.argv)


class Any(dict):
    """Takes every option: those of Sphinx are none of docutils' business."""

    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return directives.unchanged


class Sphinx(Directive):
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = Any()

    def run(self):
        return []


def role(name, rawtext, text, lineno, inliner, options=None, content=None):
    return [nodes.literal(text, text)], []


for directive in ("kernel-doc", "toctree"):
    directives.register_directive(directive, Sphinx)
for known in ("doc", "ref", "manpage", "c:func", "c:type"):
    roles.register_local_role(known, role)

for name in files("*.rst"):
    document = docutils.core.publish_doctree(
        (ROOT / name).read_text(), source_path=str(ROOT / name),
        settings_overrides={"report_level": 5, "halt_level": 6, "_disable_config": True})
    messages = list(document.findall(nodes.system_message)) + document.parse_messages + document.transform_messages
    told = set()
    for message in messages:
        words = message.children[0].astext().split("\n")[0]
        if message["level"] >= 2 and (message.get("line"), words) not in told:
            told.add((message.get("line"), words))
            report(name, message.get("line", 1), words)
finish()
