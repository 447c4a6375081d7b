#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What READMEs leave out. Standard input has the files of the tree; a line each for a folder without README.md, a
file that its folder's README.md does not name, and a name in a table of files ("file" heads its first column)
that is no file of the folder. Make fragments need not be named: their first line says what they are for."""
import os
import re
import sys

PLACES = ("bpf/", "include/", "selftests/", "tools/", "user/")
CASES = re.compile(r"selftests/vectors/psp/[^/]+")	# alike, and described in the README.md above them


def folders():
    """Folder -> names of its files."""
    found = {}
    for path in sys.stdin.read().split():
        folder, name = os.path.split(path)
        if path.startswith(PLACES) and not CASES.fullmatch(folder):
            found.setdefault(folder, set()).add(name)
    return found


def named(name, text):
    return re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-]|\.\w)", text)


def listed(text):
    """File names in the first columns of tables of files."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        if table.startswith("| file |"):
            for cell in re.findall(r"^\|([^|]*)\|", table, re.M):
                yield from re.findall(r"`([\w.-]+\.\w+)`", cell)


def check(folder, names):
    if "README.md" not in names:
        print(f"{folder}: no README.md")
        return
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    for name in sorted(names - {"README.md"}):
        if not name.endswith(".mk") and not named(name, text):
            print(f"{folder}/README.md: does not name {name}")
    for name in listed(text):
        if name not in names:
            print(f"{folder}/README.md: {name} is not there")


for each, files in sorted(folders().items()):
    check(each, files)
