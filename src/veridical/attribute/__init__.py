"""How much each part counts."""
