"""``python -m veridical.cli``: the same as ``veridical``."""

import sys

from veridical_command import main

if __name__ == "__main__":
    sys.exit(main())
