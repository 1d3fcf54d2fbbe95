"""Where explanations stay: a folder that is written chunk by chunk and read a little at a time.

``writer`` writes the manifest, whose head says what a store is of, and the chunks; ``instances`` has the rows as columns,
and digests of them; ``store`` reads it all.
"""
