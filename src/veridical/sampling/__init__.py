"""How samples are placed: kernels, low-discrepancy nets, codes, masks."""
