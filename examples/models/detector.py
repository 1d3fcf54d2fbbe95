"""A detector of singing voice in music (Schlüter and Lehner, 2018, as attacked by Praher et al., 2021) in torch.

It hears a log-mel spectrogram as ``vd.sounds.Mel()`` makes it, 80 bands of 70 frames a second, and says of every
frame how much it sounds like a voice, from the 57 frames before it and the 57 after it: 115 frames, 1.64 seconds.
There is no padding, and what would skip frames is spread out in time instead: a whole song in one pass gives,
frame by frame, the very numbers that its windows give one by one.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import conv2d

import veridical as vd

MEL = vd.sounds.Mel()  # its front end: 22,050 samples a second
BANDS, FRAMES = MEL.n_mels, 115  # what one answer is made of
NEAR = FRAMES // 2  # frames before and after the one that is asked about
STEADY = 15  # frames over which a longer excerpt is judged
SLOPE = 0.01  # of rectifiers where their input is negative
__all__ = ["BANDS", "FRAMES", "MEL", "NEAR", "Anywhere", "Detector", "asking", "built"]


class ZeroMean(nn.Conv2d):
    """A convolution whose kernels have mean zero, whatever was learned: it does not hear how loud all is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return conv2d(x, self.weight - self.weight.mean((2, 3), keepdim=True), stride=self.stride)


class Detector(nn.Module):
    """Log-mel spectrograms (n, 80, frames) to logits of a voice (n, frames - 114), one a frame that can be told.

    Of excerpts of 115 frames that is one logit each, for the frame in the middle. ``width`` is how many channels
    the second convolution has; it is 32 in the paper, and the others follow.
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        w = width
        self.scale = nn.BatchNorm1d(BANDS, affine=False)  # each band in its own running deviations
        self.layers = nn.Sequential(
            *heard(ZeroMean(1, 2 * w, 3, bias=False)),  # (time, frequency): 113 × 78
            *heard(nn.Conv2d(2 * w, w, 3, bias=False)),  # 111 × 76
            nn.MaxPool2d(3, stride=(1, 3)),  # 109 × 25
            *heard(nn.Conv2d(w, 4 * w, 3, dilation=(3, 1), bias=False)),  # 103 × 23
            *heard(nn.Conv2d(4 * w, 2 * w, 3, dilation=(3, 1), bias=False)),  # 97 × 21
            nn.MaxPool2d(3, stride=(1, 3), dilation=(3, 1)),  # 91 × 7
            nn.Dropout(0.5),
            *heard(nn.Conv2d(2 * w, 8 * w, (11, 7), dilation=(9, 1), bias=False)),  # 1 × 1
            nn.Dropout(0.5),
            *heard(nn.Conv2d(8 * w, 2 * w, 1, bias=False)),
            nn.Dropout(0.5),
            nn.Conv2d(2 * w, 1, 1),
        )

    def forward(self, spectrograms: torch.Tensor) -> torch.Tensor:
        x = self.scale(spectrograms).transpose(1, 2)[:, None]  # (n, 1, time, frequency)
        return self.layers(x)[:, 0, :, 0]


class Anywhere(nn.Module):
    """Whether there is a voice anywhere in a longer excerpt (n, 80, frames): one logit each, (n, 1).

    It is that of the fifth of a second that sounds most like one.
    """

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self.detector = detector
        self.mean = nn.AvgPool1d(STEADY, stride=1)

    def forward(self, spectrograms: torch.Tensor) -> torch.Tensor:
        return self.mean(self.detector(spectrograms)[:, None]).amax(2)


def heard(layer: nn.Conv2d) -> tuple[nn.Module, ...]:
    """A layer with what follows it: batch norm and a leaky rectifier."""
    return layer, nn.BatchNorm2d(layer.out_channels), nn.LeakyReLU(SLOPE)


def built(seed: int = 0, width: int = 32) -> Detector:
    """An untrained detector, its kernels orthogonal to each other."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        detector = Detector(width)
        for layer in detector.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight, gain=nn.init.calculate_gain("leaky_relu", SLOPE))
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return detector.eval()


def asking(detector: Detector | Anywhere) -> vd.Network:
    """The detector as methods are given it: excerpts (n, 80, 115 or more) to the probability of a voice (n, 1)."""
    return vd.Network(detector, answers="sigmoid")
