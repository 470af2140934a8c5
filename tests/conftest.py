"""What all tests need."""

import signal

# A shell starts what runs in its background with Ctrl-C ignored, which programs under test would
# inherit: those that are to end at one then never do.
signal.signal(signal.SIGINT, signal.default_int_handler)
