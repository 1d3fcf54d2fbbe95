"""Many, a few at a time."""
