"""How far a local model can be believed: intervals, whether the top is settled, verdicts."""
