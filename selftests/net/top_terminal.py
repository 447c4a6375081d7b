# SPDX-License-Identifier: BSD-2-Clause
"""falconctl top on a terminal: keys, another size, an agent that goes and comes back.

Prints what it has seen, line by line, and what the caller is to do with the agent.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

import pyte

SMALL, LARGE = (5, 120), (30, 120)      # rows, columns


class Terminal:
    """One of that size, with falconctl top on it."""

    def __init__(self, rows, columns, *arguments):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ['TERM'] = 'linux'
            # Not before the size is set: it comes when this end is asked to go on.
            sys.stdin.readline()
            os.execvp('falconctl', ['falconctl', 'top', *arguments])
        self.resize(rows, columns)
        os.write(self.fd, b'\n')

    def resize(self, rows, columns):
        """Of the same terminal."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('4H', rows, columns, 0, 0))

    def until(self, *wanted):
        """Read until all of it is shown."""
        while not all(any(w in line for line in self.screen.display) for w in wanted):
            self.stream.feed(os.read(self.fd, 4096))
        print('shown:', *wanted, flush=True)

    def press(self, keys, *wanted):
        """Keys, and what they are to show."""
        os.write(self.fd, keys)
        self.until(*wanted)

    def finish(self, key):
        """A key that ends it: the status."""
        os.write(self.fd, key)
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass        # its end has been closed
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def views(t):
    """From one to the other, and back."""
    t.until('connections sorted by TX/S, largest first, every 64 s', '1-4 view')
    t.press(b's', 'connections sorted by RX/S')
    t.press(b'S', 'connections sorted by TX/S')
    t.press(b'r', 'smallest first')
    t.press(b'v', 'queue pairs sorted by TX_B/S', 'QPN')
    t.press(b'\t', 'disks sorted by READ_B/S')
    t.press(b'\033\t', 'queue pairs sorted by TX_B/S')
    t.press(b'4', 'threads sorted by FRAMES/S', 'LONGEST_US')
    t.press(b'1', 'connections sorted by TX/S')
    t.press(b'h', 'Home, End', 'quit')
    t.press(b'h', 'FCWND')
    t.press(b'p', 'paused: p goes on')
    t.press(b'p', '1-4 view')


def scrolling(t):
    """Fewer lines than there are."""
    t.press(b'r', 'largest first')
    t.resize(*SMALL)
    t.until('lines 1 to 1 of')
    t.press(b'\033[B', 'lines 2 to 2 of')
    t.press(b'\033[A', 'lines 1 to 1 of')
    t.press(b'\033[6~', 'lines 2 to 2 of')
    t.press(b'\033[5~', 'lines 1 to 1 of')
    t.resize(*LARGE)
    t.until('FCWND')


def agent_restarts(t):
    """It is asked again until it answers."""
    t.press(b'++++++++', 'every 0.25 s')
    print('stop', flush=True)
    t.until('asked again')
    print('start', flush=True)
    t.until('1-4 view')


def main():
    """All of it, on one terminal."""
    t = Terminal(*LARGE, '-d', '64')
    views(t)
    scrolling(t)
    agent_restarts(t)
    sys.exit(t.finish(b'q'))


main()
