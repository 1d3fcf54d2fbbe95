"""What can be named in a command: the registries' names, for completion and help, without loading the library.

A test holds them against the registries.
"""

from __future__ import annotations

METHODS = (
    *("counterfactual", "deconv_net", "either", "expected_gradients", "gradient", "greedy", "guided_backprop"),
    *("input_x_gradient", "integrated_gradients", "kernel_shap", "lime", "lrp_epsilon", "lrp_preset_a_flat"),
    *("occlusion", "parzen", "pattern_attribution", "pattern_net", "random_parts", "sensitivity", "smooth_grad"),
    *("smooth_grad_squared", "undo", "var_grad"),
)
GROUPINGS = ("mixture", "gime", "linear", "cte", "etc", "tree", "lime", "maple", "mame")
PURPOSES = ("change", "content", "either")
PARTS = (
    *("rows", "fields", "words", "sentences", "superpixels", "grid", "slices", "tiles", "stems"),
    *("windows", "bands"),
)
METRICS = (
    *("fidelity", "correlation", "faithfulness_correlation", "infidelity", "deletion", "insertion"),
    *("comprehensiveness", "sufficiency", "monotonicity", "seeds", "sizes", "max_sensitivity", "nearby_ranks"),
    *("nearby_parts", "size", "entropy", "sparseness", "recall", "precision", "pointing", "mass"),
    *("randomization",),
)
CHECKS = (
    *("fooling", "labels", "mismatch", "randomize", "reliance", "sampling", "shift", "spurious", "veracity"),
)
CAUSES = (
    *("carlini_wagner", "drawn_shape", "edited_columns", "noisy_parts", "pgd", "spsa", "square"),
    *("swapped_parts", "swapped_words"),
)
ENGINES = ("local", "dask", "ray", "spark")
