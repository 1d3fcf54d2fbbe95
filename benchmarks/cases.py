"""What fidelity explains: tables, texts, pictures and toys, a model for each, and the laws that it is judged under.

A *cell* is a data set and a model; a *case* is one instance of it. The laws are written here, from their
formulas, and share no code with the library's samplers. Which tables settings are chosen on was decided before
this benchmark was first run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import compress, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import veridical as vd
from laws import Floats, coins, masks, removals
from limits import shapley_values

Predict = Callable[[Any], Floats]
Bools = npt.NDArray[np.bool_]

# table: (what it answers, its role). Settings may be chosen on some tables; results are those of the others.
TABLES = {
    "titanic": ("two classes", "chosen"),  # categories, missing values
    "pima_diabetes": ("two classes", "chosen"),
    "wine": ("classes", "chosen"),
    "auto_mpg": ("number", "chosen"),  # a category, missing values
    "breast_cancer": ("two classes", "reported"),
    "adult": ("two classes", "reported"),  # categories, missing values
    "german_credit": ("two classes", "reported"),  # categories
    "compas_two_years": ("two classes", "reported"),  # categories
    "penguins": ("classes", "reported"),  # categories, missing values
    "diabetes": ("number", "reported"),
    "bike_sharing_hour": ("number", "reported"),
    "wine_quality_red": ("number", "reported"),
    "communities_crime": ("number", "reported"),  # a hundred columns, missing values
}
SHIPPED = ("breast_cancer", "wine", "diabetes", "digits")  # come with scikit-learn
TARGETS = {
    "titanic": "survived",
    "pima_diabetes": "outcome",
    "auto_mpg": "mpg",
    "adult": "income",
    "german_credit": "credit_risk",
    "compas_two_years": "two_year_recid",
    "penguins": "species",
    "bike_sharing_hour": "cnt",
    "wine_quality_red": "quality",
    "communities_crime": "ViolentCrimesPerPop",
}
DROPPED = {  # names, copies of other columns, and parts of the answer
    "titanic": ["class", "who", "adult_male", "embark_town", "alive", "alone"],
    "auto_mpg": ["name"],
    "adult": ["split"],
    "bike_sharing_hour": ["instant", "dteday", "casual", "registered"],
    "communities_crime": ["state", "county", "community", "communityname string", "fold"],
}
COMPAS = "sex age race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree two_year_recid"
KEPT = {"compas_two_years": COMPAS.split(" ")}
TEXTS = {
    "books": "blitzer/books.parquet",
    "imdb": "imdb_subset/imdb_6k.parquet",
    "reviews": "review_polarity/review_polarity.parquet",
    "newsgroups": "newsgroups20/atheism_christian.parquet",
}
IMAGES = {
    "digits": "",
    "mnist": "mnist/mnist_25k.npz",
    "fashion_mnist": "fashion_mnist/fashion_mnist_20k.npz",
    "cifar10": "cifar10/cifar10_5k.npz",
}
MODELS = {
    "tables": ("lr", "rf", "gb", "svm", "mlp"),
    "text": ("lr", "rf", "svm", "mlp"),
    "images": ("rf", "svm", "mlp", "cnn"),
}
QUICK = {
    "tables": ["titanic-lr", "titanic-rf", "diabetes-lr", "diabetes-gb"],
    "text": ["books-lr", "books-rf"],
    "images": ["digits-rf", "digits-cnn"],
    "truth": ["additive", "xor"],
}
MOST_TRAINING, MOST_HELD_OUT = 3000, 1000  # rows
MOST_PICTURES, MOST_DOCUMENTS = 2500, 1500  # to train on
MOST_FOR_SVM = 500  # documents: it is slow on many words
EXCERPT = 80  # words of a document that are explained
CERTAIN = 0.99  # a document of which the model is surer is not explained, as in text.py
GRID = 4  # regions a side
TOY_COLUMNS, TOY_LEVELS, TOY_COPIES = 12, 12, 20
USED = (0, 3, 6, 9)  # columns that toys look at


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples of a law: which columns or parts are the instance's own, and the inputs that this makes."""

    inputs: Any
    kept: Bools  # (n, d)
    weights: Floats  # (n,)
    features: Floats  # (n, d), as numbers, for models that are fitted to the samples


@dataclass(frozen=True, eq=False)
class TableCase:
    """A row, and the columns of the background that its values are replaced from."""

    names: tuple[str, ...]  # of the columns
    stacked: pd.DataFrame  # the background, and below it the row
    numbers: Floats  # the same, categories as codes
    categorical: Bools  # (d,)
    states: npt.NDArray[np.int64]  # the same, as quartiles and categories
    represent: vd.Rows
    predict: Predict
    target: int
    spread: float  # sd of the answer over the background
    regression: bool
    truth: Floats | None = None  # (d,) of a toy

    @property
    def background(self) -> pd.DataFrame:
        return self.stacked.iloc[:-1]

    @property
    def instance(self) -> pd.DataFrame:
        return self.stacked.iloc[[-1]]

    def answer(self, inputs: Any) -> Floats:
        return self.predict(inputs)[:, self.target]

    def inputs(self, index: npt.NDArray[np.int64]) -> pd.DataFrame:
        """Rows whose value of each column is that of some row of ``stacked``."""
        columns = zip(self.names, index.T, strict=True)
        return pd.DataFrame({name: self.stacked[name].array.take(rows) for name, rows in columns})

    def itself(self) -> Drawn:
        """The instance, as the only sample."""
        return self._of(np.full((1, len(self.names)), len(self.stacked) - 1), np.ones(1))

    def uniform_share(self, n: int, rng: np.random.Generator) -> Drawn:
        """The share of kept columns is uniform in (0, 1); the others are drawn from the background, one by one."""
        index = self._drawn(n, rng)
        index[rng.random(index.shape) < rng.random((n, 1))] = len(self.stacked) - 1
        return self._of(index, np.ones(n))

    def lime_law(self, n: int, rng: np.random.Generator) -> Drawn:
        """Every column drawn from the background, weighted by how few leave their own bin or category.

        lime draws a normal inside the bin instead of a value of the background.
        """
        index = self._drawn(n, rng)
        states = np.take_along_axis(self.states, index, axis=0)
        changed = np.mean(states != self.states[-1], axis=1)
        return self._of(index, np.exp(-changed / (2 * 0.75**2)))

    def _drawn(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return rng.integers(0, len(self.stacked) - 1, (n, len(self.names)))

    def _of(self, index: npt.NDArray[np.int64], weights: Floats) -> Drawn:
        """A column is kept wherever it has the row's own value."""
        features = np.take_along_axis(self.numbers, index, axis=0)
        own = self.numbers[-1]
        kept = (features == own) | (np.isnan(features) & np.isnan(own))
        return Drawn(self.inputs(index), kept, weights, features)


@dataclass(frozen=True, eq=False)
class MaskCase:
    """A text or a picture, whose parts are kept or taken away."""

    names: tuple[str, ...]  # of the parts
    instance: Any
    law: Callable[[int], Floats]  # lime's, of the number of parts that are kept, the kernel included
    realize: Callable[[Bools], Any]
    represent: Any
    predict: Predict
    target: int
    spread: float  # sd of the answer over held-out documents or pictures
    regression: bool = False

    def answer(self, inputs: Any) -> Floats:
        return self.predict(inputs)[:, self.target]

    def itself(self) -> Drawn:
        """The instance, as the only sample."""
        return self._of(np.ones((1, len(self.names)), bool))

    def uniform_share(self, n: int, rng: np.random.Generator) -> Drawn:
        """The share of kept parts is uniform in (0, 1)."""
        return self._of(rng.random((n, len(self.names))) < rng.random((n, 1)))

    def lime_law(self, n: int, rng: np.random.Generator) -> Drawn:
        return self._of(masks(self.law(len(self.names)), n, rng) > 0)

    def _of(self, kept: Bools) -> Drawn:
        return Drawn(self.realize(kept), kept, np.ones(len(kept)), kept.astype(float))


Case = TableCase | MaskCase


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rows: int = 12  # of a cell; half of them are uncertain
    documents: int = 6
    pictures: int = 6
    samples: int = 4096  # fresh ones, of each law
    ceiling: int = 0  # samples that the boosted additive model is fitted to
    contenders: tuple[str, ...] = ()


def cells(family: str, data: Path | None, tables: list[str] | None = None, roles: str = "all") -> list[str]:
    """All cells of a family, as 'dataset-model'; says which data sets are left out without --data."""
    if family == "truth":
        return list(TOYS)
    known: dict[str, Any] = {"tables": TABLES, "text": TEXTS, "images": IMAGES}[family]
    chosen = [name for name in known if family != "tables" or roles in ("all", TABLES[name][1])]
    if tables and family == "tables":
        chosen = [name for name in chosen if name in tables]
    missing = [name for name in chosen if data is None and name not in SHIPPED]
    if missing:
        print(f"No --data DIR: {', '.join(missing)} are left out.\n")
    return [f"{name}-{model}" for name in chosen if name not in missing for model in MODELS[family]]


def load(family: str, name: str, data: Path | None, plan: Plan) -> list[Case]:
    """The cases of a cell, its model fitted."""
    if family == "truth":
        return list(toy_cases(name, min(plan.rows, 8)))
    dataset, model = name.split("-")
    if family == "tables":
        return list(table_cases(dataset, model, data, plan.rows))
    if family == "text":
        return list(text_cases(dataset, model, data, plan.documents))
    return list(image_cases(dataset, model, data, plan.pictures))


def chosen_rows(answers: Floats, regression: bool, n: int, most: float = 1.0) -> list[int]:
    """Half of the rows are the least certain, those nearest to .5 or to the median; the others are drawn."""
    top = answers[:, 0] if regression else answers.max(axis=1)
    order = np.argsort(np.abs(top - (np.median(top) if regression else 0.5)), kind="stable")
    order = order[regression | (top[order] <= most)]
    near, rest = order[: (n + 1) // 2], order[(n + 1) // 2 :]
    return [*near, *np.random.default_rng(0).permutation(rest)[: n // 2]]


# ---------------------------------------------------------------------------------------------------------- tables


def table_cases(dataset: str, model: str, data: Path | None, n: int) -> list[TableCase]:
    """The model has seen none of the rows, but every category of theirs."""
    X, y = read_table(dataset, data)
    regression = TABLES[dataset][0] == "number"
    train, rest, known, _ = train_test_split(X, y, random_state=0, test_size=0.3)
    train, known, rest = train[:MOST_TRAINING], known[:MOST_TRAINING], rest[:MOST_HELD_OUT]
    seen = np.all([known_values(train[name], rest[name]) for name in X.columns], axis=0)
    train, rest = train.reset_index(drop=True), rest[seen].reset_index(drop=True)
    fitted = table_model(model, regression, train).fit(train, known)
    predict: Predict = (lambda rows: fitted.predict(rows)[:, None]) if regression else fitted.predict_proba
    some = chosen_rows(predict(rest), regression, n)
    return cases_of(train, rest.iloc[some], predict, regression)


def cases_of(train: pd.DataFrame, rows: pd.DataFrame, predict: Predict, regression: bool) -> list[TableCase]:
    represent, usual = vd.Rows(train), predict(train)
    found = []
    for i in range(len(rows)):
        row = rows.iloc[[i]]
        stacked = pd.concat([train, row], ignore_index=True)
        target = 0 if regression else int(predict(row)[0].argmax())
        numeric = np.array([is_number(stacked[name]) for name in stacked])
        numbers = np.stack([coded(stacked[name]) for name in stacked], axis=1)
        states = np.stack([quartiles(c) if is_num else c for c, is_num in zip(numbers.T, numeric, strict=True)], 1)
        spread = float(usual[:, target].std())
        found.append(
            TableCase(
                tuple(stacked), stacked, numbers, ~numeric, states, represent, predict, target, spread, regression
            )
        )
    return found


def read_table(dataset: str, data: Path | None) -> tuple[pd.DataFrame, Any]:
    """Numbers as floats; text, with its missing values, as it is."""
    if dataset in SHIPPED:
        X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True, as_frame=True)
        return X.astype(float), y.to_numpy()
    if data is None:
        raise SystemExit(f"{dataset} needs --data DIR, a folder with tabular/{dataset}.csv")
    table = pd.read_csv(data / "tabular" / f"{dataset}.csv")
    if dataset == "adult":
        table = table[table["split"] == "train"]
    table = table[KEPT.get(dataset, list(table))].drop(columns=DROPPED.get(dataset, []))
    table = table.dropna(subset=[TARGETS[dataset]])
    table = table.loc[:, table.isna().mean() < 0.8]
    table = table.sample(min(len(table), MOST_TRAINING * 10 // 7 + 1), random_state=0)
    y = table.pop(TARGETS[dataset]).to_numpy()
    return table.astype(dict.fromkeys(table.select_dtypes("number").columns, float)), y


def is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def known_values(train: pd.Series[Any], rest: pd.Series[Any]) -> Bools:
    """Whether the background has each category, and missing values where there are some."""
    known = rest.isna() & train.isna().any() | rest.notna()
    return np.asarray(known if is_number(train) else known & (rest.isna() | rest.isin(train.dropna())))


def coded(column: pd.Series[Any]) -> Floats:
    """Numbers as they are, categories as codes from 0 on with missing values last."""
    return column.to_numpy(float) if is_number(column) else pd.factorize(column, use_na_sentinel=False)[0] * 1.0


def quartiles(column: Floats) -> npt.NDArray[np.int64]:
    """The bin of each value; missing values are one by themselves."""
    edges = np.unique(np.nanpercentile(column[:-1], [25, 50, 75]))
    return np.where(np.isnan(column), -1, np.searchsorted(edges, column))


def table_model(model: str, regression: bool, train: pd.DataFrame) -> Any:
    words = [name for name in train if not is_number(train[name])]
    numbers = [name for name in train if name not in words]
    if model == "gb":
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        boosted = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return make_pipeline(make_column_transformer((codes, words), ("passthrough", numbers)),
                             boosted(random_state=0))  # fmt: skip
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
    )
    made: dict[str, Callable[[], Any]] = {
        "lr": lambda: Ridge() if regression else LogisticRegression(max_iter=5000),
        "rf": lambda: (
            RandomForestRegressor(100, max_features=0.5, random_state=0)
            if regression
            else RandomForestClassifier(100, random_state=0)
        ),
        "svm": lambda: standardized(SVR()) if regression else CalibratedClassifierCV(SVC(), ensemble=False),
        "mlp": lambda: (
            standardized(MLPRegressor(hidden_layer_sizes=(50,), max_iter=1000, random_state=0))
            if regression
            else MLPClassifier(hidden_layer_sizes=(50,), max_iter=1000, random_state=0)
        ),
    }
    return make_pipeline(prepare, made[model]())


def standardized(model: Any) -> Any:
    """A regression on the standardized target."""
    return TransformedTargetRegressor(model, transformer=StandardScaler())


# ------------------------------------------------------------------------------------------------------------ text


def text_cases(dataset: str, model: str, data: Path | None, n: int) -> list[MaskCase]:
    if data is None:
        raise SystemExit(f"{dataset} needs --data DIR, a folder with {TEXTS[dataset]}")
    table = pd.read_parquet(data / TEXTS[dataset])
    labels = table["group" if dataset == "newsgroups" else "label"].tolist()
    texts = [re.sub(r"<br ?/?>", " ", text) for text in table["text"]]
    if dataset == "newsgroups":  # without the headers
        texts = [text.split("\n\n", 1)[-1] for text in texts]
    train, rest, known, _ = train_test_split(texts, labels, random_state=0, test_size=0.3)
    most = MOST_FOR_SVM if model == "svm" else MOST_DOCUMENTS
    fitted = text_model(model).fit(train[:most], known[:most])
    excerpts = [excerpt(text) for text in rest[:MOST_HELD_OUT]]
    excerpts = [text for text in excerpts if len(set(re.findall(r"\w+", text))) >= EXCERPT // 4]
    answers = fitted.predict_proba(excerpts)
    found = []
    for i in chosen_rows(answers, False, n, CERTAIN):
        words, realize = removable(excerpts[i])
        target = int(answers[i].argmax())
        spread = float(answers[:, target].std())
        represent = vd.Words(split=r"\W+")
        found.append(
            MaskCase(words, excerpts[i], removals, realize, represent, fitted.predict_proba, target, spread)
        )
    return found


def excerpt(text: str) -> str:
    """The first words of a document."""
    found = list(re.finditer(r"\w+", text))
    return text[: found[EXCERPT - 1].end()] if len(found) >= EXCERPT else text


def removable(text: str) -> tuple[tuple[str, ...], Callable[[Bools], list[str]]]:
    """Distinct words, and texts without some: all occurrences go together, what is between words stays."""
    pieces = re.findall(r"\w+|\W+", text)
    words = tuple(dict.fromkeys(re.findall(r"\w+", text)))
    place = {word: j for j, word in enumerate(words)}
    columns = np.array([place.get(piece, len(words)) for piece in pieces])

    def realize(kept: Bools) -> list[str]:
        shown = np.column_stack([kept, np.ones(len(kept), bool)])[:, columns]
        return ["".join(compress(pieces, mask)) for mask in shown.tolist()]

    return words, realize


def text_model(model: str) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "lr": lambda: LogisticRegression(C=20, max_iter=500),
        "rf": lambda: RandomForestClassifier(100, random_state=0),
        "svm": lambda: CalibratedClassifierCV(SVC(), ensemble=False),
        "mlp": lambda: MLPClassifier(hidden_layer_sizes=(32,), max_iter=200, tol=1e-2, random_state=0),
    }
    return make_pipeline(TfidfVectorizer(max_features=5000), made[model]())


# ---------------------------------------------------------------------------------------------------------- images


def image_cases(dataset: str, model: str, data: Path | None, n: int) -> list[MaskCase]:
    """A region that is taken away is black."""
    train, known, rest = read_images(dataset, data)
    predict = image_model(model, train, known)
    answers = predict(rest)
    found = []
    for i in chosen_rows(answers, False, n):
        target = int(answers[i].argmax())
        names = tuple(str(j) for j in range(GRID**2))
        represent = vd.Grid(GRID, GRID, fill=vd.fills.Constant(0))
        spread = float(answers[:, target].std())
        found.append(MaskCase(names, rest[i], coins, blackened(rest[i]), represent, predict, target, spread))
    return found


def regions(side: int) -> npt.NDArray[np.int64]:
    """The region of each pixel, row by row."""
    rows, columns = np.mgrid[:side, :side] * GRID // side
    return rows * GRID + columns


def blackened(image: Any) -> Callable[[Bools], Any]:
    labels = regions(len(image))
    return lambda kept: np.where(kept[:, labels][..., None], image, np.float32(0))


def read_images(dataset: str, data: Path | None) -> tuple[Any, Any, Any]:
    """Pictures (n, h, w, 3) from 0 to 1: those to train on, their classes, and held-out ones."""
    if dataset == "digits":
        digits = datasets.load_digits()
        train, rest, known, _ = train_test_split(digits.images / 16, digits.target, random_state=0, test_size=0.3)
    elif data is None:
        raise SystemExit(f"{dataset} needs --data DIR, a folder with {IMAGES[dataset]}")
    else:
        file = np.load(data / IMAGES[dataset])
        train, known, rest = file["x_train"] / 255, file["y_train"], file["x_test"] / 255
    train, known, rest = train[:MOST_PICTURES], known[:MOST_PICTURES], rest[:MOST_HELD_OUT]
    return colored(train), np.asarray(known).ravel(), colored(rest)


def colored(images: Any) -> Any:
    images = np.asarray(images, np.float32)
    return images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)


def image_model(model: str, train: Any, known: Any) -> Predict:
    """Models that read a batch of pictures as lines of pixels, and a small convolutional network."""
    if model == "cnn":
        return network(train, known)
    made: dict[str, Callable[[], Any]] = {
        "rf": lambda: RandomForestClassifier(100, random_state=0),
        "svm": lambda: make_pipeline(
            StandardScaler(), PCA(40, random_state=0), CalibratedClassifierCV(SVC(), ensemble=False)
        ),
        "mlp": lambda: make_pipeline(
            StandardScaler(), MLPClassifier(hidden_layer_sizes=(64,), max_iter=50, tol=1e-3, random_state=0)
        ),
    }
    gray = bool((train[:50, ..., 0] == train[:50, ..., 2]).all())

    def lines(images: Any) -> Any:
        pixels = np.asarray(images)
        return (pixels[..., 0] if gray else pixels).reshape(len(pixels), -1)

    fitted = made[model]().fit(lines(train), known)
    return lambda images: fitted.predict_proba(lines(images))


def network(train: Any, known: Any) -> Predict:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(24 * (train.shape[1] // 4) ** 2, 10),
    )  # fmt: skip
    X, y = torch.as_tensor(train).permute(0, 3, 1, 2).contiguous(), torch.as_tensor(known).long()
    optimizer = torch.optim.Adam(layers.parameters(), 2e-3)
    for _ in range(10):
        for some in torch.randperm(len(X)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(layers(X[some]), y[some]).backward()
            optimizer.step()
    layers.eval()

    def predict(images: Any) -> Floats:
        pixels = torch.as_tensor(np.asarray(images, np.float32)).permute(0, 3, 1, 2)
        with torch.inference_mode():
            return np.concatenate([layers(some).softmax(1).double().numpy() for some in pixels.split(256)])

    return predict


# ------------------------------------------------------------------------------------------------------------ toys


def smooth(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    return 1.5 * np.sin(1.5 * a) + 0.8 * (b**2 - 1) + 1.4 * (c > 0) - 0.7 + d


def steps(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    return 1.5 * (a > 0.3) + (b > -0.5) - 1.2 * (c > 0) + (np.abs(d) < 0.7) - 0.8


TOYS: dict[str, Callable[[Floats, Floats, Floats, Floats], Floats]] = {  # log-odds
    "linear": lambda a, b, c, d: 1.5 * a - b + 0.7 * c + 0.4 * d,
    "additive": smooth,
    "pairs": lambda a, b, c, d: smooth(a, b, c, d) + 1.2 * a * d + 1.5 * ((b > 0) & (c > 0)),
    "steps": steps,
    "xor": lambda a, b, c, d: 2 * np.sign(a * d) + b + 0.7 * c,
    "steep": lambda a, b, c, d: 4 * smooth(a, b, c, d),
}


def toy_cases(name: str, n: int) -> list[TableCase]:
    """Rows of a model that looks at four of twelve independent columns, with their exact Shapley values."""
    rng = np.random.default_rng(0)
    levels = norm.ppf((np.arange(TOY_LEVELS) + 0.5) / TOY_LEVELS).round(3)
    names = [f"x{j}" for j in range(TOY_COLUMNS)]
    copies = [rng.permutation(np.repeat(levels, TOY_COPIES)) for _ in names]
    train = pd.DataFrame(dict(zip(names, copies, strict=True)))
    rows = pd.DataFrame(rng.normal(size=(n, TOY_COLUMNS)).round(3), columns=names)

    def predict(table: Any) -> Floats:
        p = 1 / (1 + np.exp(-TOYS[name](*np.asarray(table, float)[:, USED].T)))
        return np.stack([1 - p, p], axis=1)

    cases = cases_of(train, rows, predict, regression=False)
    return [replace(case, truth=exact_values(case, levels)) for case in cases]


def exact_values(case: TableCase, levels: Floats) -> Floats:
    """Shapley values of the game in which columns are drawn one by one: every combination of four columns."""
    own = case.numbers[-1]
    outputs = []
    for number in range(2 ** len(USED)):
        grids = [[own[j]] if number >> k & 1 else levels for k, j in enumerate(USED)]
        combinations = list(product(*grids))
        table = np.zeros((len(combinations), TOY_COLUMNS))
        table[:, USED] = combinations
        outputs.append(case.answer(table).mean())
    truth = np.zeros(TOY_COLUMNS)
    truth[list(USED)] = shapley_values(len(USED), np.array(outputs))
    return truth
