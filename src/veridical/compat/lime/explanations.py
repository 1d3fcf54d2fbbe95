"""What lime's explainers give: explanations, the names of their features, and texts as indexed words.

Explanations that our explainers make have ours beside lime's numbers; those that were built by hand, or unpickled from
lime, have lime's alone.
"""

from __future__ import annotations

import re
import string
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from veridical.display import html
from veridical.display.markup import Markup, tag, whole
from veridical.errors import InputError, describe_error, require, safe_repr
from veridical.records import Bools, Ints, Page, Verdict
from veridical.records import Explanation as OwnExplanation
from veridical.storage.atomic_files import path_of, replacing

Weights: TypeAlias = list[tuple[int, float]]  # ids of features and their weights, the largest first

MODES = ("classification", "regression")
SHOWN = frozenset({"opacity", "show_all", "show_table", "text"})  # of lime's pages, which ours need no more


class LimeError(Exception):
    """What lime raises."""


class LimeWarning(UserWarning):
    """What a user of lime should know: each note is given once per process."""


_said: set[str] = set()  # keys of the notes that were given


def remark(key: str, text: str, stacklevel: int = 3) -> None:
    """Warn, once per process."""
    if key not in _said:
        _said.add(key)
        warnings.warn(text, LimeWarning, stacklevel=stacklevel)


def remark_unused(names: Iterable[str], where: str) -> None:
    """Warn of arguments that have no effect."""
    for name in names:
        remark(
            f"{where} {name}",
            f"{where} was given {name!r}, which has no effect here: leave it out",
            stacklevel=4,
        )


def remark_score() -> None:
    remark(
        "score",
        "exp.score is the R² on samples that the local model was not fitted to, so that it is lower than lime's, which "
        "is measured on the samples of the fit; exp.verdict says what it means",
        stacklevel=4,
    )


class _DefaultLabel(int):
    """The label 1 that nobody asked for."""


DEFAULT_LABEL = _DefaultLabel(1)
DEFAULT_SIZE = (4, 4)


class LabeledFloat(float):
    """The number of the last label, which also takes ``[label]``: versions of lime differ in what they give."""

    by_label: Mapping[int, float]

    @classmethod
    def of(cls, by_label: Mapping[int, float]) -> LabeledFloat:
        """Of numbers by label, the last of which is the number itself."""
        made = cls(list(by_label.values())[-1])
        made.by_label = dict(by_label)
        return made

    def __getitem__(self, label: int) -> float:
        if label in self.by_label:
            return self.by_label[label]
        if label == 0:  # lime 0.2.0.1 has an array of one number
            return float(self)
        raise KeyError(f"label {label!r} was not explained: there are {sorted(self.by_label)}")

    def __len__(self) -> int:
        return len(self.by_label)

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_label)


def id_generator(size: int = 15, random_state: Any = None) -> str:
    """A random name, for elements of a page."""
    rng = np.random.default_rng() if random_state is None else random_state
    letters = list(string.ascii_uppercase + string.digits)
    return "".join(rng.choice(letters, size, replace=True))


class DomainMapper:
    """What features are called: base of those of tables and texts."""

    def __init__(self) -> None:
        pass

    def map_exp_ids(self, exp: Any, **kwargs: Any) -> Any:
        """Names for ids; here the ids themselves."""
        return exp

    def visualize_instance_html(
        self, exp: Any, label: Any, div_name: str, exp_object_name: str, **kwargs: Any
    ) -> str:
        """A script of lime's pages: ours need none."""
        return ""


class TableDomainMapper(DomainMapper):
    """The features of a row of a table."""

    def __init__(
        self,
        feature_names: Any,
        feature_values: Any,
        scaled_row: Any,
        categorical_features: Any,
        discretized_feature_names: Any = None,
        feature_indexes: Any = None,
    ) -> None:
        self.exp_feature_names = feature_names
        self.discretized_feature_names = discretized_feature_names
        self.feature_names = feature_names
        self.feature_values = feature_values
        self.feature_indexes = feature_indexes
        self.scaled_row = scaled_row
        self.categorical_features = categorical_features
        self.all_categorical = len(categorical_features) == (
            scaled_row.shape[-1] if hasattr(scaled_row, "shape") else len(scaled_row)
        )

    def map_exp_ids(self, exp: Any, **kwargs: Any) -> Any:
        """Bins and categories for ids."""
        remark_unused(kwargs, "as_list")
        names = self.exp_feature_names
        if self.discretized_feature_names is not None:
            names = self.discretized_feature_names
        return [(names[each], weight) for each, weight in exp]


class IndexedString:
    """A text, and where its words are.

    With ``bow`` all occurrences of a word are one; words are taken out. Without, each is its own, and ``mask_string``
    stands instead of it.
    """

    def __init__(
        self, raw_string: str, split_expression: Any = r"\W+", bow: bool = True, mask_string: str | None = None
    ) -> None:
        self.raw = raw_string
        self.mask_string = "UNKWORDZ" if mask_string is None else mask_string
        words = _words_of(raw_string, split_expression)
        pieces, at = list[tuple[str, bool]](), 0
        for start, stop in words:
            pieces += [(raw_string[at:start], False)] if at < start else []
            pieces.append((raw_string[start:stop], True))
            at = stop
        pieces += [(raw_string[at:], False)] if at < len(raw_string) else []
        self._index([piece for piece, _ in pieces], [i for i, (_, word) in enumerate(pieces) if word], bow)

    def _index(self, pieces: list[str], words: Sequence[int], bow: bool) -> None:
        self.as_list, self.bow = pieces, bow
        self.as_np = np.array(pieces, dtype=np.str_)
        self.string_start = np.cumsum([0, *map(len, pieces[:-1])]) if pieces else np.empty(0, int)
        self.inverse_vocab: list[str] = [pieces[i] for i in words]
        self.positions: Any = np.array(words, dtype=int)
        if bow:
            places: dict[str, list[int]] = {}
            for i in words:
                places.setdefault(pieces[i], []).append(i)
            self.inverse_vocab, self.positions = list(places), list(places.values())

    def raw_string(self) -> str:
        """The text."""
        return self.raw

    def num_words(self) -> int:
        """How many words there are to take away."""
        return len(self.inverse_vocab)

    def word(self, id_: int) -> str:
        """The word of an id."""
        return self.inverse_vocab[id_]

    def string_position(self, id_: int) -> Any:
        """Where a word starts in the text: all of its occurrences."""
        return self.string_start[np.atleast_1d(self.positions[id_])]

    def inverse_removing(self, words_to_remove: Iterable[int]) -> str:
        """The text without some words."""
        gone = {int(i) for id_ in words_to_remove for i in np.atleast_1d(self.positions[id_])}
        instead = "" if self.bow else self.mask_string
        return "".join(instead if i in gone else piece for i, piece in enumerate(self.as_list))

    @property
    def spans(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Where words are, in order, and the id of each."""
        owners = {int(i): id_ for id_, places in enumerate(self.positions) for i in np.atleast_1d(places)}
        at = sorted(owners)
        starts = [int(self.string_start[i]) for i in at]
        spans = [(start, start + len(self.as_list[i])) for start, i in zip(starts, at, strict=True)]
        return spans, [owners[i] for i in at]


class IndexedCharacters(IndexedString):
    """A text, each character of which is a word."""

    def __init__(self, raw_string: str, bow: bool = True, mask_string: str | None = None) -> None:
        self.raw = raw_string
        self.mask_string = chr(0) if mask_string is None else mask_string
        self._index(list(raw_string), range(len(raw_string)), bow)


def _words_of(text: str, split: Any) -> list[tuple[int, int]]:
    """Where words start and stop: between what a pattern matches, or where the tokens of a function are."""
    if not callable(split):
        try:
            gaps = [match.span() for match in re.finditer(split, text) if match.end() > match.start()]
        except (re.error, TypeError) as cause:
            raise InputError(
                f"split_expression {safe_repr(split)} is no pattern of what is between words: {cause}"
            ) from cause
        starts, stops = [0, *(stop for _, stop in gaps)], [*(start for start, _ in gaps), len(text)]
        return [(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]
    try:
        tokens = [str(token) for token in split(text)]
    except Exception as cause:
        raise InputError(
            f"split_expression failed with {describe_error(cause)}: it takes a text and returns a list of tokens"
        ) from cause
    found, at = [], 0
    for token in filter(None, tokens):
        start = text.find(token, at)
        if start < 0:
            raise ValueError(
                f"split_expression returned the token {token!r}, which is not in the text after place {at}: tokens "
                "must be pieces of the text, in order"
            )
        found.append((start, start + len(token)))
        at = start + len(token)
    return found


class TextDomainMapper(DomainMapper):
    """The words of a text."""

    def __init__(self, indexed_string: Any) -> None:
        self.indexed_string = indexed_string

    def map_exp_ids(self, exp: Any, positions: bool = False, **kwargs: Any) -> Any:
        """Words for ids; with ``positions`` also where they start: 'bad_3-6'."""
        remark_unused(kwargs, "as_list")
        words = self.indexed_string
        if not positions:
            return [(str(words.word(id_)), weight) for id_, weight in exp]
        places = [
            "-".join(str(int(at)) for at in np.atleast_1d(words.string_position(id_)).ravel()) for id_, _ in exp
        ]
        return [(f"{words.word(id_)}_{at}", weight) for at, (id_, weight) in zip(places, exp, strict=True)]


class _Scored:
    """Shared by explanations: ours beside lime's numbers, and the score."""

    veridical: Mapping[int, OwnExplanation] = MappingProxyType({})  # by label
    local_exp: dict[int, Weights]
    ids: tuple[int, ...] = ()  # of the parts of ours

    @property
    def score(self) -> Any:
        """R² on samples that the local model was not fitted to; lime's is on those that it was fitted to."""
        if self.veridical:
            remark_score()
        return self.__dict__.get("score")

    @score.setter
    def score(self, value: Any) -> None:
        self.__dict__["score"] = value

    @property
    def verdict(self) -> Verdict | None:
        """How far the explanation can be relied on, of the first label; None where it was built by hand."""
        return next((why.verdict for why in self.veridical.values()), None)

    @property
    def intervals(self) -> dict[int, dict[int, tuple[float, float]]]:
        """95 % confidence intervals of the weights, by label and id."""
        return {
            label: {
                id_: (float(low), float(high)) for id_, (low, high) in zip(self.ids, why.intervals, strict=True)
            }
            for label, why in self.veridical.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class Explanation(_Scored):
    """An explanation as lime gives it; ``veridical`` has ours by label, with intervals and a verdict."""

    def __init__(
        self,
        domain_mapper: Any,
        mode: str = "classification",
        class_names: Any = None,
        random_state: Any = None,
    ) -> None:
        check_mode(mode)
        self.random_state = random_state
        self.mode = mode
        self.domain_mapper = domain_mapper
        self.local_exp: dict[int, Weights] = {}
        self.intercept: dict[int, float] = {}
        self.score = None
        self.local_pred: Any = None
        if mode == "classification":
            self.class_names = class_names
            self.top_labels: list[int] | None = None
            self.predict_proba: Any = None
        else:
            self.class_names = ["negative", "positive"]
            self.predicted_value: Any = None
            self.min_value, self.max_value = 0.0, 1.0
            self.dummy_label = 1

    def available_labels(self) -> list[int]:
        """Labels that were explained."""
        if self.mode != "classification":
            raise NotImplementedError("labels are not supported for regression: there is one output")
        return list(self.top_labels or self.local_exp)

    def as_list(self, label: int = DEFAULT_LABEL, **kwargs: Any) -> list[tuple[Any, float]]:
        """Names and weights of one label, the largest first.

        Parameters
        ----------
        label : int
            A label that was explained; by default 1, or the likeliest class where 1 was not explained.
        **kwargs
            For the domain mapper: ``positions`` of texts.
        """
        pairs = self.domain_mapper.map_exp_ids(self.local_exp[self._label_of(label)], **kwargs)
        return [(pair[0], float(pair[1])) for pair in pairs]

    def as_map(self) -> dict[int, Weights]:
        """Ids and weights by label."""
        return self.local_exp

    def as_pyplot_figure(self, label: int = DEFAULT_LABEL, figsize: Any = DEFAULT_SIZE, **kwargs: Any) -> Any:
        """The weights of one label as bars.

        Parameters
        ----------
        label : int
            A label that was explained.
        figsize : (float, float)
            Width and height in inches; by default as our charts are.
        **kwargs
            As for ``as_list``.
        """
        used = self._label_of(label)
        if used in self.veridical:
            drawn = self.veridical[used].plot(top=max(len(self.local_exp[used]), 1)).figure
            if tuple(figsize) != DEFAULT_SIZE:
                drawn.set_size_inches(figsize)
            return drawn
        pyplot = require("matplotlib.pyplot", extra="plot")
        pairs = self.as_list(used, **kwargs)[::-1]
        drawn = pyplot.figure(figsize=figsize, layout="constrained")
        axes = drawn.add_subplot()
        axes.barh(range(len(pairs)), [weight for _, weight in pairs])
        axes.set_yticks(range(len(pairs)), [str(name).replace("$", r"\$") for name, _ in pairs])
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_title(f"Local explanation of {self._name_of(used)}".replace("$", r"\$"))
        return drawn

    def show_in_notebook(
        self, labels: Any = None, predict_proba: bool = True, show_predicted_value: bool = True, **kwargs: Any
    ) -> None:
        """Show the page in a notebook; arguments as for ``as_html``."""
        show = require("IPython.display", extra="dev")
        chosen = self._labels_of(labels)
        remark_unused(kwargs.keys() - SHOWN, "show_in_notebook")
        plain = self._plain_page(chosen, predict_proba, show_predicted_value)
        own = self._page(chosen)
        show.display(show.HTML(plain if own is None else html.fragment(own)))

    def save_to_file(
        self,
        file_path: Any,
        labels: Any = None,
        predict_proba: bool = True,
        show_predicted_value: bool = True,
        **kwargs: Any,
    ) -> None:
        """Write the page to a file; arguments as for ``as_html``."""
        written = self.as_html(labels, predict_proba, show_predicted_value, **kwargs)
        path = path_of(file_path, "save_to_file")
        with replacing(Path(path)) as stream:
            stream.write(written.encode())

    def as_html(
        self, labels: Any = None, predict_proba: bool = True, show_predicted_value: bool = True, **kwargs: Any
    ) -> str:
        """A page of the labels: class probabilities first, then weights with intervals and the verdict.

        Parameters
        ----------
        labels : iterable of int, optional
            Labels to show; by default all that were explained.
        predict_proba, show_predicted_value : bool
            Whether pages of explanations that were built by hand have the model's answer; ours always do.
        **kwargs
            What lime's pages take: ``show_table``, ``show_all``, ``text`` and ``opacity`` have no effect.
        """
        remark_unused(kwargs.keys() - SHOWN, "as_html")
        chosen = self._labels_of(labels)
        own = self._page(chosen)
        if own is not None:
            return html.page(own)
        return self._plain_page(chosen, predict_proba, show_predicted_value)

    def _page(self, labels: Sequence[int]) -> Page | None:
        """Ours of some labels; None where one of them has none."""
        if not labels or any(label not in self.veridical for label in labels):
            return None
        alone = len(labels) == 1
        return Page("", [("" if alone else self._name_of(label), self.veridical[label]) for label in labels])

    def _plain_page(self, labels: Sequence[int], predict_proba: bool, show_predicted_value: bool) -> str:
        """Escaped tables of lime's numbers."""
        body = list[Markup]()
        if self.mode == "classification" and predict_proba and self.predict_proba is not None:
            answers = [(self._name_of(i), float(p)) for i, p in enumerate(np.ravel(self.predict_proba))]
            body += _table("Prediction probabilities", answers)
        if self.mode == "regression" and show_predicted_value and self.predicted_value is not None:
            value = float(np.ravel(self.predicted_value)[0])
            known = [
                ("least nearby", self.min_value),
                ("predicted", value),
                ("most nearby", self.max_value),
            ]
            body += _table("Predicted value", [(name, float(number)) for name, number in known])
        for label in labels:
            body += _table(f"Weights for {self._name_of(label)}", self.as_list(label))
        head = tag("head", {}, tag("title", {}, whole("Explanation")))
        return tag("html", {"lang": "en"}, head, tag("body", {}, *body))

    def _labels_of(self, labels: Any) -> list[int]:
        """Labels to show."""
        if self.mode == "regression":
            return [self.dummy_label]
        wanted = self.available_labels() if labels is None else list(labels)
        return [self._label_of(label) for label in wanted]

    def _label_of(self, label: int) -> int:
        """The label that is meant."""
        if self.mode == "regression":
            return self.dummy_label
        if label in self.local_exp:
            return int(label)
        there = self.available_labels()
        if label is DEFAULT_LABEL and there:
            first = there[0]
            if not self.top_labels and self.predict_proba is not None:
                first = max(there, key=lambda each: float(self.predict_proba[each]))
            remark(
                "default label",
                f"label 1 is the default, and was not explained; this is label {int(first)}, the likeliest of those that "
                f"were: {[int(each) for each in there]}. Say which one you mean, as in as_list(label={int(first)})",
                stacklevel=4,
            )
            return int(first)
        raise KeyError(
            f"label {safe_repr(label)} was not explained: there are {[int(each) for each in there]}; "
            "explain_instance(…, labels=…) or top_labels=… says which are"
        )

    def _name_of(self, label: int) -> str:
        """What a class is called."""
        names = self.class_names
        known = names is not None and -len(names) <= label < len(names)
        return str(names[label]) if known else str(label)


def check_mode(mode: Any) -> None:
    """Refuse what is no mode."""
    if mode not in MODES:
        raise LimeError(f'mode is "classification" or "regression", not {safe_repr(mode)}')


def _table(title: str, lines: Sequence[tuple[Any, float]]) -> list[Markup]:
    """A heading, and a table of names and numbers."""
    rows = [
        tag("tr", {}, tag("th", {}, whole(str(name))), tag("td", {}, whole(f"{number:.4g}")))
        for name, number in lines
    ]
    return [tag("h2", {}, whole(title)), tag("table", {}, *rows)]


class ImageExplanation(_Scored):
    """An explanation of a picture by its segments; ``veridical`` has ours by label."""

    def __init__(self, image: Any, segments: Any) -> None:
        self.image = image
        self.segments = segments
        self.intercept: dict[int, float] = {}
        self.local_exp: dict[int, Weights] = {}
        self.local_pred: Any = {}
        self.score = {}
        self.top_labels: list[int] | None = None

    def get_image_and_mask(
        self,
        label: int,
        positive_only: bool = True,
        negative_only: bool = False,
        hide_rest: bool = False,
        num_features: int = 5,
        min_weight: float = 0.0,
    ) -> tuple[Any, Ints]:
        """A picture of the heaviest segments, and a mask that marks them.

        Parameters
        ----------
        label : int
            A label that was explained.
        positive_only, negative_only : bool
            Segments that speak for the label, or against it, alone; the mask is 1 there. With neither, both are tinted, and
            the mask is 1 and -1.
        hide_rest : bool
            Whether all other segments become 0.
        num_features : int
            How many segments at most.
        min_weight : float
            The least size of a weight.
        """
        if label not in self.local_exp:
            there = [int(each) for each in self.local_exp]
            raise KeyError(f"label {safe_repr(label)} was not explained: there are {there}")
        if positive_only and negative_only:
            raise ValueError("positive_only and negative_only exclude each other: set one of them to False")
        shown = np.zeros_like(self.image) if hide_rest else self.image.copy()
        mask = np.zeros(self.segments.shape, np.int64)
        one_sided = positive_only or negative_only
        keep: Callable[[float], bool] = lambda weight: abs(weight) >= min_weight  # noqa: E731
        if one_sided:
            way = 1 if positive_only else -1
            keep = lambda weight: way * weight > max(min_weight, 0.0)  # noqa: E731
        weighed = self.local_exp[label]
        chosen = (
            [pair for pair in weighed if keep(pair[1])][:num_features]
            if one_sided
            else [pair for pair in weighed[:num_features] if keep(pair[1])]
        )
        for id_, weight in chosen:
            here: Bools = self.segments == id_
            shown[here] = self.image[here]
            mask[here] = 1 if one_sided or weight >= 0 else -1
            if not one_sided:
                shown[here, int(weight >= 0)] = np.max(self.image)
        return shown, mask
