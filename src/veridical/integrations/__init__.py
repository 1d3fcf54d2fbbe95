"""Explanations inside other tools: a plugin of pytest, and runs of MLflow."""
