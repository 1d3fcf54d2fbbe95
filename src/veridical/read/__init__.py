"""Models and data out of files, as commands ask for them."""
