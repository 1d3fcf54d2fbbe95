"""Tests of what is in ``src``, each at the path of what it tests; ``builders`` has what several of them share."""
