"""Does an explanation name the cause, where the cause is known? The tests of Praher et al. (2021), and more."""
