"""What can be taken away or changed."""

from veridical.represent.rows import Rows
from veridical.represent.words import Sentences, Words

REPRESENTERS = {"rows": Rows, "sentences": Sentences, "words": Words}
