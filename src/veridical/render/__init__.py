"""The eye: explanations as text, as HTML and as figures."""
