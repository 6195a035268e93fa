"""Writes boosted trees as files of LightGBM (text), XGBoost (JSON) and ydf (a folder)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.model import Head, Plan
from ..plan.trees import NodeColumns, Trees
from .plain_trees import PlainTree, list_plain_trees, name_numbers

__all__ = ["HELP", "KINDS", "write_tree_file"]

# XGBoost marks a node without a parent with this.
_NO_PARENT = 2**31 - 1
# The column of the label of a model of ydf; no number has this name.
_LABEL = "label:"


def write_tree_file(plan: Plan, kind: str, path: str) -> None:
    """Writes boosted trees for another library.

    Args:
      plan: the model, with trees.
      kind: a key of KINDS.
      path: the file or folder to write.

    Raises:
      BridgeError: the library has no such head, or ydf is not installed.
    """
    if plan.trees is None:
        raise BridgeError(f"--{kind}: only boosted trees can be written; leave the flag out")
    if plan.head.task not in ("binary", "multiclass", "regression"):
        raise BridgeError(
            f"--{kind}: a model of the task {plan.head.task} cannot be written; leave the flag out"
        )
    if plan.head.task == "regression" and plan.head.units > 1:
        raise BridgeError(f"--{kind}: a regression of several numbers cannot be written")
    trees = plan.trees if plan.head.moments is None else _scale(plan.trees, *plan.head.moments)
    KINDS[kind](plan.head, trees, path)


def _scale(trees: Trees, mean: float, std: float) -> Trees:
    """Returns trees that give numbers in the label's unit: the mean is in the first tree."""
    place = NodeColumns()
    nodes = trees.nodes.astype(np.float64)
    nodes[:, place.leaf :] *= std
    numbers = np.arange(len(nodes))
    end = trees.roots[1] if len(trees.roots) > 1 else len(nodes)
    nodes[(nodes[:, place.left] == numbers) & (numbers < end), place.leaf :] += mean
    return trees._replace(nodes=nodes.astype(np.float32))


def _join(values: Iterable[Any]) -> str:
    return " ".join(map(str, values))


def _write_lightgbm(head: Head, trees: Trees, path: str) -> None:
    objective = {
        "binary": "binary sigmoid:1",
        "multiclass": f"multiclass num_class:{head.units}",
        "regression": "regression",
    }[head.task]
    names = name_numbers(trees)
    blocks = [_lightgbm_tree(one, n) for n, one in enumerate(list_plain_trees(trees))]
    lines = [
        "tree",
        "version=v4",
        f"num_class={head.units}",
        f"num_tree_per_iteration={head.units}",
        "label_index=0",
        f"max_feature_idx={len(names) - 1}",
        f"objective={objective}",
        f"feature_names={_join(names)}",
        f"feature_infos={_join(['[-1e308:1e308]'] * len(names))}",
        f"tree_sizes={_join(len(block) for block in blocks)}",
        "",
        "".join(blocks) + "end of trees",
        "",
        "feature_importances:",
        "",
        "parameters:",
        "end of parameters",
        "",
        "pandas_categorical:null",
        "",
    ]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def _lightgbm_tree(tree: PlainTree, number: int) -> str:
    """Returns one tree; LightGBM numbers splits and leaves apart, leaves as -1, -2, ..."""
    is_leaf = tree.left < 0
    numbers = np.where(is_leaf, -np.cumsum(is_leaf), np.cumsum(~is_leaf) - 1)
    splits = np.flatnonzero(~is_leaf)
    lines = [f"Tree={number}", f"num_leaves={is_leaf.sum()}", "num_cat=0"]
    if len(splits):
        zeros = _join([0] * len(splits))
        # 8: NaN is a missing value; 2: which goes to the left.
        decisions = 8 + 2 * ~tree.nan_right[splits]
        lines += [
            f"split_feature={_join(tree.feature[splits])}",
            f"split_gain={zeros}",
            f"threshold={_join(repr(float(one)) for one in tree.threshold[splits])}",
            f"decision_type={_join(decisions)}",
            f"left_child={_join(numbers[tree.left[splits]])}",
            f"right_child={_join(numbers[tree.right[splits]])}",
        ]
    zero_leaves = _join([0] * int(is_leaf.sum()))
    lines += [
        f"leaf_value={_join(repr(float(one)) for one in tree.value[is_leaf])}",
        f"leaf_weight={zero_leaves}",
        f"leaf_count={zero_leaves}",
    ]
    if len(splits):
        lines += [f"internal_{name}={zeros}" for name in ("value", "weight", "count")]
    return "\n".join([*lines, "is_linear=0", "shrinkage=1", "", "", ""])


def _write_xgboost(head: Head, trees: Trees, path: str) -> None:
    names = name_numbers(trees)
    objective: dict[str, Any] = {
        "binary": {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}},
        "multiclass": {
            "name": "multi:softprob",
            "softmax_multiclass_param": {"num_class": str(head.units)},
        },
        "regression": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }[head.task]
    written = [
        _xgboost_tree(one, number, len(names)) for number, one in enumerate(list_plain_trees(trees))
    ]
    rounds = range(0, len(written) + 1, head.units)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(written))},
        "iteration_indptr": list(rounds),
        "tree_info": [number % head.units for number in range(len(written))],
        "trees": written,
    }
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"name": "gbtree", "model": model},
        "learner_model_param": {
            # The probability of the logit 0.
            "base_score": "5E-1" if head.task == "binary" else "0E0",
            "boost_from_average": "0",
            "num_class": str(head.units if head.task == "multiclass" else 0),
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": objective,
    }
    text = json.dumps({"learner": learner, "version": [2, 1, 0]})
    Path(path).write_text(text, encoding="utf-8")


def _xgboost_tree(tree: PlainTree, number: int, num_features: int) -> dict[str, Any]:
    count, is_leaf = len(tree.left), tree.left < 0
    # A row goes to the left if its number is below the condition.
    above = np.nextafter(tree.threshold, np.float32("inf"))
    conditions = np.where(is_leaf, tree.value, above)
    return {
        "base_weights": [0.0] * count,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": (~tree.nan_right).astype(int).tolist(),
        "id": number,
        "left_children": tree.left.tolist(),
        "loss_changes": [0.0] * count,
        "parents": np.where(tree.parent < 0, _NO_PARENT, tree.parent).tolist(),
        "right_children": tree.right.tolist(),
        "split_conditions": [float(one) for one in conditions],
        "split_indices": np.maximum(tree.feature, 0).tolist(),
        "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(num_features),
            "num_nodes": str(count),
            "size_leaf_vector": "1",
        },
    }


def _write_ydf(head: Head, trees: Trees, path: str) -> None:
    try:
        import ydf
    except ImportError as error:
        raise BridgeError("--ydf: the package ydf writes it; pip install ydf") from error
    names = name_numbers(trees)
    model = _train_stub(ydf, head, names)
    places = {one.name: one.column_idx for one in model.input_features()}
    columns = [places[name] for name in names]
    while model.num_trees():
        model.remove_tree(0)
    for tree in list_plain_trees(trees):
        model.add_tree(ydf.tree.Tree(root=_ydf_node(ydf.tree, tree, 0, columns)))
    model.set_initial_predictions([0.0] * head.units)
    model.save(path)


def _train_stub(ydf: Any, head: Head, names: list[str]) -> Any:
    """Returns a model of ydf with the features and the task; its trees do not matter."""
    random = np.random.RandomState(0)
    classes = head.classes or tuple(map(str, range(max(head.units, 2))))
    # ydf orders classes by their frequency.
    labels = np.repeat(classes, np.arange(len(classes), 0, -1) + 5)
    is_number = head.task == "regression"
    data: dict[str, Any] = {
        name: random.rand(len(labels)).astype(np.float32) for name in [*names, _LABEL]
    }
    if not is_number:
        data[_LABEL] = labels
    ydf.verbose(0)
    learner = ydf.GradientBoostedTreesLearner(
        label=_LABEL,
        task=ydf.Task.REGRESSION if is_number else ydf.Task.CLASSIFICATION,
        features=[ydf.Feature(name, ydf.Semantic.NUMERICAL) for name in names],
        num_trees=1,
        validation_ratio=0.0,
    )
    model = learner.train(data)
    if not is_number and tuple(model.label_classes()) != classes:
        raise BridgeError(f"--ydf: this ydf orders the classes as {model.label_classes()}")
    return model


def _ydf_node(kinds: Any, tree: PlainTree, place: int, columns: list[int]) -> Any:
    if tree.left[place] < 0:
        value = kinds.RegressionValue(num_examples=1, value=float(tree.value[place]))
        return kinds.Leaf(value=value)
    condition = kinds.NumericalHigherThanCondition(
        missing=bool(tree.nan_right[place]),
        score=0.0,
        attribute=columns[tree.feature[place]],
        # Rows whose number is at least the threshold go to the positive child.
        threshold=float(np.nextafter(tree.threshold[place], np.float32("inf"))),
    )
    positive, negative = (
        _ydf_node(kinds, tree, int(side[place]), columns) for side in (tree.right, tree.left)
    )
    return kinds.NonLeaf(condition=condition, pos_child=positive, neg_child=negative)


# Library -> writes its file: head, trees, path.
KINDS = {"lightgbm": _write_lightgbm, "xgboost": _write_xgboost, "ydf": _write_ydf}
HELP = {
    "lightgbm": "with boosted trees: the model as a text file of LightGBM",
    "xgboost": "with boosted trees: the model as a JSON file of XGBoost, *.json",
    "ydf": "with boosted trees: the model as a folder of ydf, which must be installed",
}
