#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draw a Grafana dashboard of Prometheus' answers: dashboard.py DASHBOARD BEGAN PICTURE

Panels are where the dashboard has them, "stat" as text, all others as lines over the seconds since BEGAN.
Asks the Prometheus at 127.0.0.1:9090; has gnuplot draw.
"""
import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

COLUMN, ROW, HEAD = 48, 24, 40		# pixels of a grid's unit, and of the title
UNITS = {'pps': 'packets/s', 's': 's', 'ops': '1/s', 'Bps': 'B/s', 'percentunit': '', 'short': ''}
KEYS = 6				# curves that have a line in the key


def ask(expr, began, ended):
    expr = expr.replace('$instance', '.*').replace('$__rate_interval', '5s')
    query = urllib.parse.urlencode({'query': expr, 'start': began, 'end': ended, 'step': 1})
    with urllib.request.urlopen('http://127.0.0.1:9090/api/v1/query_range?' + query, timeout=20) as answer:
        return json.load(answer)['data']['result']


def legend(target, labels):
    return re.sub(r'{{(\w+)}}', lambda m: labels.get(m[1], ''), target['legendFormat']).replace(':9464', '')


def curves_of(panel, began, ended):
    """A list of (name, [(second, value)]), the largest first."""
    curves = []
    for target in panel['targets']:
        for result in ask(target['expr'], began, ended):
            points = [(at - began, float(value)) for at, value in result['values'] if value != 'NaN']
            if points:
                curves.append((legend(target, result['metric']), points))
    return sorted(curves, key=lambda c: -max(value for _, value in c[1]))


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def stat(panel, curves):
    values = []
    for name, points in curves:
        value = '%g' % points[-1][1]
        values.append(name if panel['title'] == 'Version' else f'{name}: {value}')
    text = '\\n'.join(dict.fromkeys(values))
    return [f'set label 1 {quoted(panel["title"])} at graph 0.5, 0.85 center font ",13"',
            f'set label 2 "{text}" at graph 0.5, 0.5 center font ",12" textcolor rgb "#1f60c4"',
            'unset border', 'unset tics', 'unset key', 'plot [0:1] [0:1] -1', 'unset label', 'set border 3',
            'set tics']


def lines(panel, curves, seconds):
    unit = UNITS.get(panel.get('fieldConfig', {}).get('defaults', {}).get('unit', ''), '')
    shown = [c for c in curves if any(value for _, value in c[1])]
    out = [f'set title {quoted(panel["title"] + (f" ({unit})" if unit else ""))} font ",13"', 'set key']
    for i, (_, points) in enumerate(shown):
        out.append(f'$C{i} << EOD')
        out += ['%g %g' % p for p in points]
        out.append('EOD')
    plots = ', '.join(f'$C{i} with lines lw 1.5 ' + (f'title {quoted(name)}' if i < KEYS else 'notitle')
                      for i, (name, _) in enumerate(shown))
    nothing = '0 notitle lc rgb "#cccccc"'
    return out + [f'plot [0:{seconds}] [0:{"*" if shown else 1}] ' + (plots or nothing), 'unset title']


def main():
    board = json.load(open(sys.argv[1], encoding='utf-8'))
    began, ended = int(sys.argv[2]), int(time.time())
    panels = board['panels']
    width = 24 * COLUMN
    height = max(p['gridPos']['y'] + p['gridPos']['h'] for p in panels) * ROW + HEAD
    script = [f'set terminal pngcairo size {width},{height} font "DejaVu Sans,9" background rgb "#ffffff"',
              f'set output {quoted(sys.argv[3])}',
              f'set multiplot title {quoted(board["title"])} font ",16"',
              'set border 3', 'set tics nomirror', 'set grid ytics lc rgb "#e0e0e0"', 'set format y "%.1s%c"',
              'set key noenhanced', 'set title noenhanced', 'set offsets 0, 0, graph 0.7, 0',
              'set key top left samplen 1 spacing 0.8 font ",7"']
    for panel in panels:
        grid = panel['gridPos']
        script.append(f'set origin {grid["x"] / 24}, {1 - ((grid["y"] + grid["h"]) * ROW + HEAD) / height}')
        script.append(f'set size {grid["w"] / 24}, {grid["h"] * ROW / height}')
        curves = curves_of(panel, began, ended)
        script += stat(panel, curves) if panel['type'] == 'stat' else lines(panel, curves, ended - began)
    script.append('unset multiplot')
    subprocess.run(['gnuplot'], input='\n'.join(script) + '\n', text=True, check=True)


main()
