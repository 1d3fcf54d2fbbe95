"""Other libraries: what they give, read as explanations of veridical."""

from veridical.compat.shap_values import from_shap

__all__ = ["from_shap"]
