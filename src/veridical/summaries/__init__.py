"""From many to few: picks of explanations, and groups of instances with one explanation each."""
