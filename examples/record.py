"""What is this used car worth? A model of a text and of numbers, explained by the words and the numbers together.

An advertisement has a description, an age, a mileage and a kind of engine. One explanation weighs all of them on
one scale, dollars, and says what share of the effect each field has. The advertisements are made here, so the
truth is known: rust costs 1,500 dollars, one owner is worth 800, leather seats nothing at all.

    python examples/record.py [page.html]
"""

import sys

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import veridical as vd

PHRASES = {  # what a seller may say, and what it is worth in dollars
    "one owner from new": 800,
    "full service history": 600,
    "new tires": 300,
    "leather seats": 0,
    "drives well": 0,
    "rust on the doors": -1500,
    "scratch at the back": -400,
    "engine light is on": -1200,
}


def advertisements(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """n advertisements and their prices."""
    said = rng.random((n, len(PHRASES))) < 0.3
    said[:, 4] |= ~said.any(1)  # nobody says nothing
    frame = pd.DataFrame(
        {
            "description": [", ".join(np.array(list(PHRASES))[row]).capitalize() + "." for row in said],
            "age": rng.integers(1, 15, n),  # years
            "mileage": 0.0,
            "engine": rng.choice(["petrol", "diesel", "electric"], n, p=[0.5, 0.35, 0.15]),
        }
    )
    frame["mileage"] = (frame["age"] * rng.normal(9_000, 2_500, n).clip(1_000)).round(-2)
    price = 22_000 * 0.88 ** frame["age"] - 0.02 * frame["mileage"] + 2_500 * (frame["engine"] == "electric")
    return frame, (price + said @ list(PHRASES.values()) + rng.normal(0, 300, n)).clip(500).to_numpy()


def main(page: str = "record.html") -> None:
    frame, prices = advertisements(1_000, np.random.default_rng(0))
    columns = ColumnTransformer(
        [
            ("words", CountVectorizer(binary=True), "description"),
            ("kind", OneHotEncoder(), ["engine"]),
            ("numbers", "passthrough", ["age", "mileage"]),
        ],
        sparse_threshold=0,
    )
    model = make_pipeline(columns, HistGradientBoostingRegressor(random_state=0)).fit(frame[:800], prices[:800])
    print(f"price of 200 other cars: R² {model.score(frame[800:], prices[800:]):.2f}\n")

    car = pd.Series(
        {
            "description": "One owner from new, leather seats, rust on the doors.",
            "age": 6,
            "mileage": 71_000.0,
            "engine": "diesel",
        }
    )
    numbers = vd.bins.Continuous()  # the effect of one standard deviation, instead of that of a bin
    parts = vd.Fields(
        {
            "description": vd.Words(split=r"[,.] ?"),  # what is between commas is one part
            "age": vd.Rows(frame[["age"]], discretize=numbers),
            "mileage": vd.Rows(frame[["mileage"]], discretize=numbers),
            "engine": vd.Rows(frame[["engine"]]),
        }
    )
    why = vd.explain(model, parts, car, method=vd.Lime(n_samples=4096))  # the model is quick: ask it often
    print(why)
    print("\nshare of the effect:", ", ".join(f"{field} {share:.0%}" for field, share in why.shares.items()))
    why.save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
