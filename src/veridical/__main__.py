"""``python -m veridical``: the demo; with arguments, the same as ``veridical``."""

import sys

if __name__ == "__main__":
    if sys.argv[1:]:
        from veridical.cli import main

        sys.exit(main())
    from veridical.demo import demo

    demo()
