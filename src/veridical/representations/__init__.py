"""Instances as features that can be changed or taken away: rows, words, regions, tiles, windows."""

from veridical.representations.fields import Fields
from veridical.representations.images import Grid, Superpixels
from veridical.representations.series import Windows
from veridical.representations.sounds import Slices, Stems, Tiles
from veridical.representations.tables.rows import Rows
from veridical.representations.words import Sentences, Words

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
