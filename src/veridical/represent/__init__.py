"""What can be taken away or changed."""

from veridical.represent.rows import Rows

REPRESENTERS = {"rows": Rows}
