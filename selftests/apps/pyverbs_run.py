# SPDX-License-Identifier: BSD-2-Clause
"""Run rdma-core's own tests of DIRECTORY on DEVICE: pyverbs_run.py DIRECTORY DEVICE [WORD]...

One line a test: "ok ID", "skip ID REASON" or "bad ID"; why it is bad comes before, indented. Tests for
one vendor's adapters are left out; with words, all are left out that hold none of them.
"""
import sys
import unittest
from importlib.machinery import SourceFileLoader

VENDORS = ('mlx5', 'efa', 'cuda')


class Lines(unittest.TestResult):
    """Results as lines."""

    def __init__(self):
        super().__init__()
        self.bad = set()

    def _bad(self, test, err):
        for line in self._exc_info_to_string(err, test).splitlines():
            print('    ' + line)
        if test.id() not in self.bad:
            print('bad', test.id(), flush=True)
        self.bad.add(test.id())

    def addSuccess(self, test):
        if test.id() not in self.bad:
            print('ok', test.id(), flush=True)

    def addSkip(self, test, reason):
        print('skip', test.id(), reason, flush=True)

    def addFailure(self, test, err):
        self._bad(test, err)

    def addError(self, test, err):
        self._bad(test, err)


def flat(suite):
    """All tests of a suite."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main():
    """Load the package as its own runner does, and run it."""
    directory, device, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    sys.path.insert(0, directory)
    sys.argv = ['run_tests.py', '--dev', device]
    args_parser = __import__('args_parser')
    package = SourceFileLoader('tests', directory + '/__init__.py').load_module()
    args_parser.parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromModule(package)
    chosen = unittest.TestSuite(
        t for t in flat(suite)
        if not any(v in t.id() for v in VENDORS) and (not words or any(w in t.id() for w in words)))
    chosen.run(Lines())


main()
