"""Records as strict JSON, and back."""
