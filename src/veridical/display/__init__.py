"""Records as text, as HTML and as figures."""
