"""For all tests: Ctrl-C interrupts them and what they start, whatever started them.

A shell's background jobs ignore it, and so would every process that a test starts and interrupts.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
