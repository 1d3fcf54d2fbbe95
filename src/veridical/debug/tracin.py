"""TracIn (Pruthi et al. 2020): what training on a row did to its own loss, by gradients of the last layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, softmax

from veridical.attribute.network import Network
from veridical.debug.activations import given_and_made
from veridical.errors import InputError, NotApplicable, require
from veridical.records import Floats, Ints


def tracin(networks: Sequence[Network], X: object, labels: Ints, rates: Sequence[float] | None = None) -> Floats:
    """Self-influence (n,) of training rows: squared gradients of their log loss, summed over checkpoints.

    ``networks`` are the network at one or more times of its training, ``rates`` the learning rates then. Only the
    gradient by the last linear layer counts, as in the paper's own experiments with large networks; the module's
    outputs are taken as logits, one for two classes, or one a class.
    """
    if rates is not None and len(rates) != len(networks):
        raise InputError(f"rates wants one learning rate a checkpoint: {len(networks)}, not {len(rates)}")
    found = np.zeros(len(labels))
    for network, rate in zip(networks, [1.0] * len(networks) if rates is None else rates, strict=True):
        given, logits = given_and_made(network, X, last_linear(network))
        if logits.shape[1] == 1:
            slopes = expit(logits) - labels[:, None]
        else:
            slopes = softmax(logits, axis=1) - np.eye(logits.shape[1])[labels]
        found += rate * (slopes**2).sum(axis=1) * ((given**2).sum(axis=1) + 1)
    return found


def last_linear(network: Network) -> str:
    """The name of the linear layer that gives the network's outputs."""
    torch = require("torch", extra="torch")
    parts = [(name, part) for name, part in network.module.named_modules() if not any(part.children())]
    if not parts or not isinstance(parts[-1][1], torch.nn.Linear) or not parts[-1][0]:
        last = type(parts[-1][1]).__name__ if parts else "nothing"
        raise NotApplicable(f"TracIn wants a network that ends in a Linear layer, which gives logits, not {last}")
    return str(parts[-1][0])
