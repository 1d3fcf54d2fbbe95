"""How much each part counts."""

from veridical.attribute.lime import Lime

METHODS = {"lime": Lime}
