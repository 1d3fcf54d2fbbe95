"""From many to few: picks of explanations, and groups of instances with one explanation each."""

from veridical.summarize.gime import Gime
from veridical.summarize.mixture import Mixture

GROUPINGS = {"mixture": Mixture, "gime": Gime}
