"""Many, a few at a time.

A run (``runs``) takes chunks of rows from a source (``sources``) and hands them to an engine (``engines``), whose
workers explain each chunk alone (``work``); what comes out stays in memory or in a folder (``stores``).
"""
