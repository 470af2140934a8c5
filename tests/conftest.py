"""What all tests need."""

import os
import signal
import tempfile

# A shell starts what runs in its background with Ctrl-C ignored, which programs under test would
# inherit: those that are to end at one then never do.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup with a hang-up: a handler is not inherited, and these tests go on at one.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# How programs look on the terminal of whoever runs the tests is not what the tests keep.
for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES"):
    os.environ.pop(name, None)

# Below a longer one a socket cannot be bound.
if len(os.fsencode(tempfile.gettempdir())) > 32:
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
