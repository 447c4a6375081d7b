#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who includes what: every include of a header of the tree, against the tables of user/README.md.

includes.py [TREE] prints a line for each include that no table allows, for each folder that has no row, and for
each permission and each exception that nothing needs any more. The tables stand below the heading "Who includes what": the first
has a folder and the folders whose headers it may include, the second a file, a header, and why.
"""
import os
import re
import sys

PLACES = ("bpf", "include", "user", "tools")
ROOTS = ("include", "user", "bpf")	# where #include looks, after the file's own folder
ALL = "include/falcon"			# what anyone else may include, with its folders


def rows(tree):
    """Cells of the tables below the heading, without their backquotes."""
    with open(os.path.join(tree, "user/README.md"), encoding="utf-8") as text:
        part = text.read().split("\n## Who includes what\n")[1].split("\n## ")[0]
    for line in re.findall(r"^\|(?!-)(.*)\|$", part, re.M):
        cells = [cell.strip().replace("`", "") for cell in line.split("|")]
        if cells[0] not in ("folder", "file"):
            yield cells


def tables(tree):
    """Folder -> folders it may include; (file, header) -> False, or True once it was needed."""
    allowed, exceptions = {}, {}
    for row in rows(tree):
        if len(row) == 2:
            allowed[row[0]] = {word.strip(",") for word in row[1].split()}
        else:
            exceptions[row[0], row[1]] = False
    return allowed, exceptions


def sources(tree):
    for place in PLACES:
        for folder, _, names in sorted(os.walk(os.path.join(tree, place))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), tree)


def included(tree, source):
    """The tree's headers that a file includes, as they are written and as paths."""
    with open(os.path.join(tree, source), encoding="utf-8") as text:
        for name in re.findall(r'^#\s*include\s+["<]([^">]+)[">]', text.read(), re.M):
            for root in (os.path.dirname(source),) + ROOTS:
                path = os.path.normpath(os.path.join(root, name))
                if os.path.isfile(os.path.join(tree, path)):
                    yield name, path
                    break


def for_all(target, folder):
    """Whether |target| is among what the whole tree shares, of which |folder| is not."""
    return f"{target}/".startswith(ALL + "/") and not f"{folder}/".startswith(ALL + "/")


def check(tree):
    allowed, exceptions = tables(tree)
    lacking, unused = set(), {folder: set(others) for folder, others in allowed.items()}
    for source in sources(tree):
        folder = os.path.dirname(source)
        if folder not in allowed:
            lacking.add(folder)
            continue
        for name, path in included(tree, source):
            target = os.path.dirname(path)
            unused[folder].discard(target)
            if target == folder or target in allowed[folder] or for_all(target, folder):
                continue
            if (source, name) in exceptions:
                exceptions[source, name] = True
            else:
                print(f"{source} includes {name}: {folder} may not include {target}")
    for folder in sorted(lacking):
        print(f"{folder}: has no row")
    for folder, others in unused.items():
        for target in sorted(others):
            print(f"{folder}: includes nothing of {target}, which its row allows")
    for (source, name), needed in exceptions.items():
        if not needed:
            print(f"{source}, {name}: an exception that nothing needs")


check(sys.argv[1] if len(sys.argv) > 1 else ".")
