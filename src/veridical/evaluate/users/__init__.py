"""Simulated users: what explanations let someone do who knows something that the model does not."""

from veridical.evaluate.users.choose import Choice, Chooser, Crosses, Reading, choose, contains, flips

__all__ = ["Choice", "Chooser", "Crosses", "Reading", "choose", "contains", "flips"]
