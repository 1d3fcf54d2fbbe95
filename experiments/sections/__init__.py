"""What README.md here says of each experiment: a module each, with ``tables`` and ``figures``."""
