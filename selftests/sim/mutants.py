#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do the tests notice? Build the simulator, or falcon-rifl for faults in user/rifl, from a copy of the tree with
one deliberate fault at a time, run random schedules, and where they see nothing the unit tests of the same.

usage: mutants.py [--check] [-n SCHEDULES] [-f FRAMES] [MUTANT]...

A MUTANT that ends in "*" stands for all that begin so. Prints a line a mutant: who caught it, and by what. Exit
status 1 if one was not caught, 2 if one no longer matches the source; --check looks for that alone. The copy,
with its build, is kept under build/mutants."""

import argparse
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
COPY = os.path.join(TOP, "build", "mutants")
SEED = "1"


class Mutant:
    def __init__(self, block):
        head, *lines = block.splitlines()
        self.name, self.file = head.split()
        self.old = [l[1:] for l in lines if l.startswith("-")]
        self.new = [l[1:] for l in lines if l.startswith("+")]
        self.rifl = self.file.startswith("user/rifl/")

    def matches(self, text):
        old = "\n".join(self.old) + "\n"
        return text.count("\n" + old)

    def apply(self, text):
        return text.replace("\n" + "\n".join(self.old) + "\n", "\n" + "\n".join(self.new) + "\n")


def read_mutants():
    with open(os.path.join(os.path.dirname(__file__), "mutants.txt")) as f:
        text = "".join(l for l in f if not l.startswith("#"))
    return [Mutant(b) for b in re.split(r"\n\s*\n", text.strip())]


def run(*command, limit=120):
    """Exit status, negative for a signal or the time limit, and all that was printed."""
    try:
        p = subprocess.run(command, cwd=COPY, timeout=limit, text=True, errors="replace",
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.returncode, p.stdout
    except subprocess.TimeoutExpired as e:
        return -1, (e.stdout or b"").decode(errors="replace") + "\nno end after %d s" % limit


def copy_tree():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, text=True,
                           check=True, stdout=subprocess.PIPE).stdout.split()
    for name in names:
        src, dst = os.path.join(TOP, name), os.path.join(COPY, name)
        if not os.path.isfile(src):
            continue
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        if not os.path.exists(dst) or open(src, "rb").read() != open(dst, "rb").read():
            shutil.copy(src, dst)


def make(*targets):
    rc, out = run("make", "-j2", "CPPFLAGS=-Wno-error", *targets, limit=900)
    if rc:
        sys.exit("mutants: the copy does not build:\n" + out[-2000:])


def by_schedules(program, *options):
    make(program)
    rc, out = run(program, *options, "--seed", SEED)
    if rc == 0:
        return None
    found = re.search(r"^violation: (.*)", out, re.M)
    return "schedules: " + (found.group(1) if found else out.strip().splitlines()[-1])


def by_unit_tests(pattern):
    tests = [t[:-2].replace("selftests/unit", "build/selftests/unit") + ".t" for t in
             sorted(glob.glob("selftests/unit/%s.c" % pattern, root_dir=COPY))]
    make(*tests)
    for t in tests:
        rc, out = run(t)
        if rc:
            failed = re.search(r"^not ok \d+ - (\S+)", out, re.M)
            return "unit test: %s%s" % (os.path.basename(t)[:-2],
                                        ", " + failed.group(1) if failed else "")
    return None


def try_mutant(m, schedules, frames):
    path = os.path.join(COPY, m.file)
    with open(path) as f:
        original = f.read()
    try:
        with open(path, "w") as f:
            f.write(m.apply(original))
        if m.rifl:
            return by_schedules("build/falcon-rifl", "--soak", str(frames)) or by_unit_tests("rifl_*")
        return by_schedules("build/falcon-sim", "--first", "--soak", str(schedules)) or by_unit_tests("core_*")
    finally:
        with open(path, "w") as f:
            f.write(original)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("-f", type=int, default=2000000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("mutant", nargs="*")
    args = parser.parse_args()
    mutants = [m for m in read_mutants()
               if not args.mutant or any(fnmatch.fnmatchcase(m.name, p) for p in args.mutant)]
    stale = False
    for m in mutants:
        with open(os.path.join(TOP, m.file)) as f:
            count = m.matches(f.read())
        if count != 1:
            print("%s: %s has its lines %d times" % (m.name, m.file, count))
            stale = True
    if stale or args.check:
        return 2 * stale
    copy_tree()
    make("build/falcon-sim", "build/falcon-rifl")
    caught = 0
    for m in mutants:
        by = try_mutant(m, args.n, args.f)
        caught += by is not None
        print("| %s | %s |" % (m.name, by or "NOT CAUGHT"), flush=True)
    print("%d of %d mutants caught" % (caught, len(mutants)))
    return caught != len(mutants)


sys.exit(main())
