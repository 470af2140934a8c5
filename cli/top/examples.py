"""The help of the command, which teaches by example."""

from typing import Final

HELP: Final = """Watch daemons: where blocks are found, what is full, how fast.

Everything comes from /v1/status and /metrics of a daemon's HTTP interface; nothing is changed.

\b
The daemon of this host, live in a terminal, elsewhere a line of text every second:
  pegaflow top
Two daemons of other hosts:
  pegaflow top --url gpu-1:9091 --url gpu-2:9091
A line every 5 s, over ssh or into a log:
  pegaflow top --stat -i 5s
Once, for scripts; requested = memory + ssd + remote + miss:
  pegaflow top --once --json | jq .blocks
An hour for a spreadsheet:
  pegaflow top --csv -i 10s -n 360 > hour.csv
Say when loads take more than 100 ms, and that more than 1 s is a fault:
  pegaflow top --threshold load-p99=100,1000
Record the last day without showing anything, and look at it later; arrows go back and on:
  pegaflow top --record day.gz --headless --retention 24h
  pegaflow top --replay day.gz
  pegaflow top --replay day.gz --csv > day.csv
Daemons with names, keys and thresholds of one's own, in ~/.config/pegaflow/top.toml:
  [hosts]
  gpu-1 = "http://gpu-1:9091"
  [thresholds]
  load-p99 = "100,1000"
  [keys]
  pause = "w"
With x evicting blocks, once the name of what they are of is typed:
  pegaflow top --allow-actions --token-file /etc/pegaflow/token
Without a daemon:
  pegaflow top --demo

In the live view ? shows all keys: numbers show and hide panels, / filters, z shows faults only,
q quits.

Exit code of the last reading, with --once or -n, 0: it works; 3: a daemon does not answer; 4: not
in time; 5: one is degraded.
"""
