#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints a way through the code: walk.py FILE FROM [UNTIL], of what walk.c recorded in FILE.

The way begins where a thread calls the function FROM, and ends where it calls UNTIL, or where FROM returns;
a function is NAME or, where others have that name too, FILE.c:NAME. The shortest of all such ways is printed:
one packet, one post, with nothing beside it. Each call is a line, also one that has returned before the end:
function, file, and the function's line. The last line counts calls, functions, files.
"""
import bisect
import mmap
import re
import struct
import subprocess
import sys

# As in walk.c.
MAPS_SIZE, THREADS, EVENTS = 1 << 18, 32, 1 << 18
RETURN = 1 << 63


def mapped(text):
    """From the text of /proc/PID/maps: [(first address, address of offset 0 of the file, path)], sorted."""
    base, found = {}, []
    for line in text.splitlines():
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+\s+(/.*)", line)
        if m:
            start, offset = int(m[1], 16), int(m[3], 16)
            base.setdefault(m[4], start - offset)
            found.append((start, base[m[4]], m[4]))
    return sorted(found)


class Names:
    """Functions by their addresses, with file and line, as addr2line tells them."""

    def __init__(self, maps):
        self.maps = maps
        self.known = {}

    def learn(self, addresses):
        of = {}
        for address in set(addresses) - set(self.known):
            _, base, path = self.maps[bisect.bisect(self.maps, (address, 1 << 64)) - 1]
            of.setdefault(path, []).append((address, address - base))
        for path, both in of.items():
            said = subprocess.run(["addr2line", "-f", "-e", path], check=True, text=True, capture_output=True,
                                  input="".join(f"{offset:#x}\n" for _, offset in both)).stdout.splitlines()
            for (address, _), name, place in zip(both, said[::2], said[1::2]):
                self.known[address] = name, re.sub(r"^\./| \(discriminator.*", "", place)

    def addresses(self, wanted):
        """Of the function NAME, or FILE.c:NAME."""
        return {address for address, (name, place) in self.known.items()
                if wanted in (name, f"{place.split('/')[-1].split(':')[0]}:{name}")}


def threads(data):
    """Of each thread, its events in order: (address, whether it returns)."""
    size = 8 + 16 * EVENTS
    for i in range(THREADS):
        at = MAPS_SIZE + i * size
        n, = struct.unpack_from("<Q", data, at)
        if not n:
            return
        words = struct.unpack_from(f"<{2 * min(n, EVENTS)}Q", data, at + 8)[::2]
        first = n % EVENTS if n > EVENTS else 0
        yield [(w & ~RETURN, bool(w & RETURN)) for w in words[first:] + words[:first]]


def returned(events, start):
    """Index behind the return of the call at |start|; None if that is not recorded."""
    depth = 0
    for i in range(start, len(events)):
        depth += -1 if events[i][1] else 1
        if depth == 0:
            return i + 1
    return None


def ways(events, begin, end):
    """Spans of events from the last call of |begin| to one of |end|; without that, to the return."""
    start = None
    for i, (address, returns) in enumerate(events):
        if returns:
            continue
        if start is not None and address in end:
            yield start, i + 1
            start = None
        if address in begin:
            start = i
            if not end and returned(events, i):
                yield i, returned(events, i)


def show(events, names):
    depth, calls = 0, []
    for address, returns in events:
        if not returns:
            calls.append((depth, *names.known[address]))
        depth += -1 if returns else 1
    outermost = min(depth for depth, _, _ in calls)
    for i, (depth, name, place) in enumerate(calls):
        print(f"{i + 1:4} {'  ' * (depth - outermost)}{name}  {place}")
    files = {place.rsplit(":", 1)[0] for _, _, place in calls}
    print(f"{len(calls)} calls of {len({call[1:] for call in calls})} functions in {len(files)} files")


def main():
    path, *ends = sys.argv[1:]
    with open(path, "rb") as f:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    names = Names(mapped(data[:MAPS_SIZE].split(b"\0", 1)[0].decode()))
    best = None
    for events in threads(data):
        names.learn(address for address, _ in events)
        begin, end = (names.addresses(name) for name in (ends + [None])[:2])
        for i, j in ways(events, begin, end):
            if best is None or j - i < len(best):
                best = events[i:j]
    if best is None:
        sys.exit(f"walk: {path}: no thread came from {' to '.join(ends)}")
    show(best, names)


if __name__ == "__main__":
    main()
