#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks metrics strictly: metrics_check.py openmetrics|prometheus [names FILE] <TEXT.

Prints a line for each fault, and exits with 1 if there are any: of syntax, of names, types and units, of
histograms; samples that occur twice, metrics that are not in one piece. With a file of names, also those that
are not in the text: NAME without _total, or NAME{LABEL=VALUE}.
"""
import re
import sys

SAMPLE = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SUFFIXES = {
    'counter': ['_total'],
    'gauge': [''],
    'info': ['_info'],
    'histogram': ['_bucket', '_count', '_sum'],
}
UNITS = ('bytes', 'seconds')


class Checker:
    def __init__(self, openmetrics):
        self.open = openmetrics
        self.faults = []
        self.families = {}      # name: {TYPE, UNIT, HELP}
        self.name = None        # of the family that is being read
        self.seen = set()       # samples: name and labels
        self.histograms = {}    # labels but le: [(le, count)]
        self.found = set()      # NAME and NAME{LABEL=VALUE}
        self.sampled = False    # the family has begun

    def fault(self, number, text):
        self.faults.append(f'line {number}: {text}')

    def meta(self, number, line):
        parts = line.split(' ', 3)
        if len(parts) < 4 or parts[1] not in ('TYPE', 'HELP', 'UNIT'):
            return self.fault(number, f'not a TYPE, HELP or UNIT: {line}')
        _, kind, name, text = parts
        if name != self.name:
            self.end_family(number)
            if name in self.families:
                self.fault(number, f'{name} is in two pieces')
            self.name, self.sampled, self.families[name] = name, False, {}
        elif self.sampled:
            self.fault(number, f'{kind} of {name} after its samples')
        if kind in self.families[name]:
            self.fault(number, f'{name} has {kind} twice')
        self.families[name][kind] = text
        if kind == 'UNIT' and (not self.open or not name.endswith('_' + text)):
            self.fault(number, f'{name} does not end in its unit {text}')
        if kind == 'HELP' and re.search(r'\\(?![\\n"])', text):
            self.fault(number, 'wrong escape in HELP')

    def base(self, sample):
        """The family's name by a sample's, and what the sample's name has behind it."""
        kind = self.families.get(self.name, {}).get('TYPE')
        if not self.open and kind in ('counter', 'gauge'):
            suffixes = ['']
        else:
            suffixes = SUFFIXES.get(kind, [])
        for suffix in suffixes:
            if sample == (self.name or '') + suffix:
                return suffix
        return None

    def labels(self, number, text):
        out, at = {}, 0
        while text and at < len(text):
            m = LABEL.match(text, at)
            if not m:
                self.fault(number, f'labels: {text[at:]}')
                return out
            if m[1] in out:
                self.fault(number, f'label {m[1]} twice')
            out[m[1]] = m[2]
            at = m.end()
            if m[3] == ',' and at == len(text):
                self.fault(number, 'a comma ends the labels')
        return out

    def sample(self, number, line):
        m = SAMPLE.match(line)
        if not m:
            return self.fault(number, f'not a sample: {line}')
        suffix = self.base(m[1])
        if suffix is None:
            return self.fault(number, f'{m[1]} does not belong to {self.name}')
        labels = self.labels(number, m[2])
        self.sampled = True
        self.found.add(re.sub('_total$', '', m[1]))
        for key, value in labels.items():
            self.found.add(re.sub('_total$', '', m[1]) + '{%s=%s}' % (key, value))
        key = (m[1], tuple(sorted(labels.items())))
        if key in self.seen:
            self.fault(number, f'{line} twice')
        self.seen.add(key)
        kind = self.families[self.name]['TYPE']
        if not re.fullmatch(r'-?[0-9]+(\.[0-9]+)?', m[3]):
            self.fault(number, f'value {m[3]}')
        elif kind != 'gauge' and float(m[3]) < 0:
            self.fault(number, f'{m[1]} is negative')
        if kind == 'histogram':
            self.histogram(labels, suffix, float(m[3]))

    def histogram(self, labels, suffix, value):
        others = tuple(sorted((k, v) for k, v in labels.items() if k != 'le'))
        h = self.histograms.setdefault((self.name, others), {'buckets': []})
        if suffix == '_bucket':
            h['buckets'].append((float(labels.get('le', 'nan')), value))
        else:
            h[suffix] = value

    def end_family(self, number):
        if self.name is None:
            return
        family = self.families[self.name]
        for wanted in ('TYPE', 'HELP'):
            if wanted not in family:
                self.fault(number, f'{self.name} has no {wanted}')
        if family.get('TYPE') not in SUFFIXES:
            self.fault(number, f'{self.name} is of type {family.get("TYPE")}')
        if not self.sampled:
            self.fault(number, f'{self.name} has no sample')
        total = self.name.endswith('_total')
        if total != (family.get('TYPE') == 'counter' and not self.open):
            self.fault(number, f'{self.name} of type {family.get("TYPE")} ends in _total, or does not')
        for unit in UNITS:
            if self.open and self.name.endswith('_' + unit) and family.get('UNIT') != unit:
                self.fault(number, f'{self.name} has no UNIT')
        if re.search(r'_(ns|us|ms|kib|mib)(_|$)', self.name) or not self.name.startswith('falcon_'):
            self.fault(number, f'{self.name} is no name in base units that begins with falcon_')

    def end_histograms(self):
        for (name, labels), h in self.histograms.items():
            limits = [le for le, _ in h['buckets']]
            counts = [n for _, n in h['buckets']]
            if limits != sorted(set(limits)) or not limits or limits[-1] != float('inf'):
                self.fault(0, f'{name}: buckets {limits}')
            if counts != sorted(counts) or h.get('_count') != counts[-1] or '_sum' not in h:
                self.fault(0, f'{name}: counts {counts}, _count {h.get("_count")}')

    def run(self, text):
        lines = text.split('\n')
        if lines.pop() != '':
            self.fault(len(lines), 'the last line does not end')
        if self.open and (not lines or lines.pop() != '# EOF'):
            self.fault(len(lines), 'no # EOF at the end')
        for number, line in enumerate(lines, 1):
            if line.startswith('#'):
                self.meta(number, line)
            else:
                self.sample(number, line)
        self.end_family(len(lines))
        self.end_histograms()


def main():
    checker = Checker(sys.argv[1] == 'openmetrics')
    checker.run(sys.stdin.buffer.read().decode('utf-8'))
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding='utf-8') as names:
            for name in names.read().split():
                if name not in checker.found:
                    checker.fault(0, f'no sample of {name}')
    print('\n'.join(checker.faults), end='\n' if checker.faults else '')
    return 1 if checker.faults else 0


sys.exit(main())
