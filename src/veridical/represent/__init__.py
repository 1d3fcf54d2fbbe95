"""What can be taken away or changed."""

from veridical.represent.pictures import Grid, Superpixels
from veridical.represent.rows import Rows
from veridical.represent.words import Sentences, Words

REPRESENTERS = {"grid": Grid, "rows": Rows, "sentences": Sentences, "superpixels": Superpixels, "words": Words}
