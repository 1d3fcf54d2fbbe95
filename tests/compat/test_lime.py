"""Every name that lime has is here, at the place where lime has it, with lime's signature."""

from __future__ import annotations

import importlib
import inspect

import pytest

NAMES = {
    "exceptions": "LimeError",
    "explanation": "DomainMapper Explanation LimeError id_generator",
    "discretize": "BaseDiscretizer StatsDiscretizer QuartileDiscretizer DecileDiscretizer EntropyDiscretizer",
    "lime_base": "LimeBase",
    "lime_tabular": (
        "TableDomainMapper LimeTabularExplainer RecurrentTabularExplainer QuartileDiscretizer DecileDiscretizer "
        "EntropyDiscretizer BaseDiscretizer StatsDiscretizer explanation lime_base"
    ),
    "lime_text": "TextDomainMapper IndexedString IndexedCharacters LimeTextExplainer explanation lime_base",
    "lime_image": "ImageExplanation LimeImageExplainer SegmentationAlgorithm lime_base",
    "submodular_pick": "SubmodularPick",
    "utils.generic_utils": "has_arg",
    "wrappers.scikit_image": "BaseWrapper SegmentationAlgorithm has_arg",
}
SIGNATURES = {  # of lime 0.2.0.1, and what its head adds at the end
    "lime_tabular.LimeTabularExplainer": (
        "training_data mode training_labels feature_names categorical_features categorical_names kernel_width kernel "
        "verbose class_names feature_selection discretize_continuous discretizer sample_around_instance random_state "
        "training_data_stats"
    ),
    "lime_tabular.LimeTabularExplainer.explain_instance": (
        "self data_row predict_fn labels top_labels num_features num_samples distance_metric model_regressor "
        "sampling_method"
    ),
    "lime_tabular.RecurrentTabularExplainer": (
        "training_data mode training_labels feature_names categorical_features categorical_names kernel_width kernel "
        "verbose class_names feature_selection discretize_continuous discretizer random_state"
    ),
    "lime_tabular.RecurrentTabularExplainer.explain_instance": (
        "self data_row classifier_fn labels top_labels num_features num_samples distance_metric model_regressor"
    ),
    "lime_tabular.TableDomainMapper": (
        "feature_names feature_values scaled_row categorical_features discretized_feature_names feature_indexes"
    ),
    "lime_text.LimeTextExplainer": (
        "kernel_width kernel verbose class_names feature_selection split_expression bow mask_string random_state "
        "char_level"
    ),
    "lime_text.LimeTextExplainer.explain_instance": (
        "self text_instance classifier_fn labels top_labels num_features num_samples distance_metric model_regressor"
    ),
    "lime_text.IndexedString": "raw_string split_expression bow mask_string",
    "lime_text.IndexedCharacters": "raw_string bow mask_string",
    "lime_image.LimeImageExplainer": "kernel_width kernel verbose feature_selection random_state",
    "lime_image.LimeImageExplainer.explain_instance": (
        "self image classifier_fn labels hide_color top_labels num_features num_samples batch_size segmentation_fn "
        "distance_metric model_regressor random_seed progress_bar"
    ),
    "lime_image.LimeImageExplainer.data_labels": (
        "self image fudged_image segments classifier_fn num_samples batch_size progress_bar"
    ),
    "lime_image.ImageExplanation.get_image_and_mask": (
        "self label positive_only negative_only hide_rest num_features min_weight"
    ),
    "lime_base.LimeBase": "kernel_fn verbose random_state",
    "lime_base.LimeBase.explain_instance_with_data": (
        "self neighborhood_data neighborhood_labels distances label num_features feature_selection model_regressor"
    ),
    "lime_base.LimeBase.feature_selection": "self data labels weights num_features method",
    "lime_base.LimeBase.forward_selection": "self data labels weights num_features",
    "lime_base.LimeBase.generate_lars_path": "weighted_data weighted_labels",
    "discretize.BaseDiscretizer": "data categorical_features feature_names labels random_state data_stats",
    "discretize.StatsDiscretizer": "data categorical_features feature_names labels random_state data_stats",
    "discretize.QuartileDiscretizer": "data categorical_features feature_names labels random_state",
    "explanation.Explanation": "domain_mapper mode class_names random_state",
    "explanation.Explanation.as_list": "self label kwargs",
    "explanation.Explanation.as_pyplot_figure": "self label figsize kwargs",
    "explanation.Explanation.as_html": "self labels predict_proba show_predicted_value kwargs",
    "explanation.Explanation.show_in_notebook": "self labels predict_proba show_predicted_value kwargs",
    "explanation.Explanation.save_to_file": "self file_path labels predict_proba show_predicted_value kwargs",
    "submodular_pick.SubmodularPick": (
        "explainer data predict_fn method sample_size num_exps_desired num_features kwargs"
    ),
    "wrappers.scikit_image.SegmentationAlgorithm": "algo_type target_params",
}


@pytest.mark.parametrize("module", NAMES)
def test_every_name_is_there(module: str) -> None:
    found = importlib.import_module(f"veridical.compat.lime.{module}")
    assert found.__name__ == f"veridical.compat.lime.{module}"
    assert not [name for name in NAMES[module].split() if not hasattr(found, name)]


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_of_lime(name: str) -> None:
    module = next(each for each in sorted(NAMES, key=len, reverse=True) if name.startswith(f"{each}."))
    found = importlib.import_module(f"veridical.compat.lime.{module}")
    for part in name.removeprefix(f"{module}.").split("."):
        found = getattr(found, part)
    assert list(inspect.signature(found).parameters) == SIGNATURES[name].split()
