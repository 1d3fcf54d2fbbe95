"""Where explanations stay: a folder that is written a part at a time and read a little at a time.

What it is of (``heads``), how it is written (``folder``, ``parts``, ``beside``), what its content is as one number
(``digests``), and how it is read (``store``, ``held``).
"""
