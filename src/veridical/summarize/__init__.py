"""From many explanations to few."""
