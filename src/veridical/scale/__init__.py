"""Many rows, a few at a time.

The ``driver`` takes chunks of rows from ``sources`` and hands them to an engine (``engines``), whose workers explain each
chunk alone; what comes out stays in memory or in a folder (``stores``), from which ``picks`` choose.
"""
