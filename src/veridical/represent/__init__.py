"""What can be taken away or changed."""

from veridical.represent.fields import Fields
from veridical.represent.pictures import Grid, Superpixels
from veridical.represent.rows import Rows
from veridical.represent.series import Windows
from veridical.represent.sounds import Slices, Stems, Tiles
from veridical.represent.words import Sentences, Words

REPRESENTERS = {
    "fields": Fields,
    "grid": Grid,
    "rows": Rows,
    "sentences": Sentences,
    "slices": Slices,
    "stems": Stems,
    "superpixels": Superpixels,
    "tiles": Tiles,
    "windows": Windows,
    "words": Words,
}
