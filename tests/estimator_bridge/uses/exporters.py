"""Exporters, receivers and the outputs of an export."""

import os

import numpy as np
import pytest

from estimator_bridge import tf

from .api import data, input_fn, parsing_receiver, serialized, serve, x_only


def _raw_receiver(api):
    def fn():
        x = tf.compat.v1.placeholder(tf.float32, (None, 1), "x")
        return api.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    return fn


def _evaluate_with(api, exporter, steps=4):
    e = api.estimator
    model = api.linear()
    e.train_and_evaluate(
        model,
        e.TrainSpec(input_fn(), max_steps=steps),
        e.EvalSpec(input_fn(repeat=False), exporters=exporter, throttle_secs=0, start_delay_secs=0),
    )
    folder = f"{api.folder}/linear/export/{exporter.name}"
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def best(api):
    e = api.estimator
    exporter = e.BestExporter(
        "best",
        parsing_receiver(api),
        compare_fn=lambda best_eval_result, current_eval_result: (
            current_eval_result["loss"] < best_eval_result["loss"]
        ),
        exports_to_keep=2,
    )
    kept = _evaluate_with(api, exporter, steps=12)  # It evaluates each four steps.
    assert 1 <= len(kept) <= 2


def final(api):
    kept = _evaluate_with(api, api.estimator.FinalExporter("final", parsing_receiver(api)))
    assert len(kept) == 1


def latest(api):
    exporter = api.estimator.LatestExporter("latest", parsing_receiver(api), exports_to_keep=1)
    kept = _evaluate_with(api, exporter, steps=8)
    assert len(kept) == 1
    path = f"{api.folder}/linear/export/latest/{kept[0]}"
    answer = serve(path, {"inputs": [serialized(0.5, "red")]})
    assert answer["scores"].shape == (1, 2)


def own_exporter(api):
    e = api.estimator
    calls = []

    class Own(e.Exporter):
        name = "own"

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            calls.append((os.path.basename(checkpoint_path), is_the_final_export))

    _evaluate_with(api, Own())
    assert calls[-1] == ("model.ckpt-4", True)


def _spec_with(api, outputs_fn):
    """Returns a model whose export has exactly the outputs of the given function."""
    e = api.estimator

    def model_fn(features, labels, mode):
        y = tf.compat.v1.layers.dense(features["x"], 2, name="dense")
        if mode == e.ModeKeys.PREDICT:
            return e.EstimatorSpec(mode, predictions={"y": y}, export_outputs=outputs_fn(y))
        loss = tf.reduce_mean((y - labels) ** 2)
        step = tf.compat.v1.train.get_global_step()
        train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return e.EstimatorSpec(mode, loss=loss, train_op=train_op)

    model = e.Estimator(model_fn, model_dir=f"{api.folder}/outputs", config=api.config)
    model.train(x_only(), steps=1)
    return model


def _served(api, outputs_fn, signature="serving_default"):
    model = _spec_with(api, outputs_fn)
    path = model.export_saved_model(f"{api.folder}/served", _raw_receiver(api))
    return path, lambda feeds: serve(path, feeds, signature)


def classification_output(api):
    export = api.estimator.export

    def outputs(y):
        labels = tf.constant([["no", "yes"]])
        count = tf.shape(y)[0]
        classes = tf.tile(labels, [count, 1])
        return {"serving_default": export.ClassificationOutput(scores=y, classes=classes)}

    # A classification signature accepts strings only, so the export rejects this one.
    model = _spec_with(api, outputs)
    spec = tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("x")])
    receiver = export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_saved_model(f"{api.folder}/served", receiver)
    answer = serve(path, {"inputs": [serialized(1.0, "red")]})
    assert answer["scores"].shape == (1, 2) and answer["classes"][0, 1] == b"yes"


def regression_output(api):
    export = api.estimator.export
    model = _spec_with(api, lambda y: {"serving_default": export.RegressionOutput(value=y[:, :1])})
    spec = tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("x")])
    receiver = export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_saved_model(f"{api.folder}/served", receiver)
    assert serve(path, {"inputs": [serialized(1.0, "red")]})["outputs"].shape == (1, 1)


def predict_output(api):
    export = api.estimator.export
    _, ask = _served(api, lambda y: {"serving_default": export.PredictOutput({"y": y})})
    assert ask({"x": np.ones((3, 1), np.float32)})["y"].shape == (3, 2)


def export_output(api):
    """Exports a custom output besides the default one."""
    e = api.estimator

    class Norm(e.export.ExportOutput):
        def __init__(self, value):
            self.value = value

        def as_signature_def(self, receiver_tensors):
            info = tf.compat.v1.saved_model.build_tensor_info
            return tf.compat.v1.saved_model.build_signature_def(
                {name: info(tensor) for name, tensor in receiver_tensors.items()},
                {"norm": info(self.value)},
                tf.compat.v1.saved_model.signature_constants.PREDICT_METHOD_NAME,
            )

    def outputs(y):
        return {
            "serving_default": e.export.PredictOutput({"y": y}),
            "norm": Norm(tf.norm(y, axis=1)),
        }

    _, ask = _served(api, outputs, "norm")
    assert ask({"x": np.ones((3, 1), np.float32)})["norm"].shape == (3,)


def eval_output(api):
    export = api.estimator.export
    with tf.Graph().as_default():
        loss = tf.constant(1.0)
        metric = tf.compat.v1.metrics.mean(tf.constant([1.0, 3.0]))
        output = export.EvalOutput(loss, {"y": tf.constant([1.0])}, {"mean": metric})
        signature = output.as_signature_def({"x": tf.compat.v1.placeholder(tf.float32, ())})
    assert set(signature.outputs) == {
        "loss",
        "predictions/y",
        "metrics/mean/value",
        "metrics/mean/update_op",
    }


def tensor_receiver(api):
    e = api.estimator

    def model_fn(features, labels, mode):
        return e.EstimatorSpec(
            mode,
            predictions={"y": 2.0 * features},
            loss=tf.constant(0.0),
            train_op=tf.compat.v1.assign_add(tf.compat.v1.train.get_global_step(), 1),
        )

    def receiver():
        x = tf.compat.v1.placeholder(tf.float32, (None,), "x")
        return e.export.TensorServingInputReceiver(x, x)

    model = e.Estimator(model_fn, model_dir=f"{api.folder}/tensor")
    model.train(lambda: (tf.constant([1.0]), tf.constant([1.0])), steps=1)
    path = model.export_saved_model(f"{api.folder}/served", receiver)
    # A single tensor has the name "input", and a single output "output".
    answer = serve(path, {"input": [1.5]})
    np.testing.assert_allclose(list(answer.values())[0], [3.0])


def parsing(api):
    model = api.linear()
    model.train(input_fn(), steps=1)
    path = model.export_saved_model(f"{api.folder}/parsed", parsing_receiver(api))
    answer = serve(path, {"examples": [serialized(0.1, "blue")]}, "predict")
    assert answer["probabilities"].shape == (1, 2)


def raw(api):
    export = api.estimator.export
    features, _ = data("binary")
    with tf.Graph().as_default():
        receiver = export.build_raw_serving_input_receiver_fn(
            {"x": tf.constant(features["x"]), "c": tf.constant(features["c"])}, 4
        )
    model = api.linear()
    model.train(input_fn(), steps=1)
    path = model.export_saved_model(f"{api.folder}/raw", receiver)
    feeds = {name: values[:4] for name, values in features.items()}
    assert serve(path, feeds, "predict")["logits"].shape == (4, 1)


def serving_receiver(api):
    receiver = _raw_receiver(api)
    model = api.custom()
    model.train(x_only(), steps=1)
    path = model.export_saved_model(f"{api.folder}/served", receiver)
    assert serve(path, {"x": [[1.0], [2.0]]})["y"].shape == (2, 1)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Tensor"):
        api.estimator.export.ServingInputReceiver({"x": "not a tensor"}, {})


USES = {
    "BestExporter": best,
    "Exporter": own_exporter,
    "FinalExporter": final,
    "LatestExporter": latest,
    "export.ClassificationOutput": classification_output,
    "export.EvalOutput": eval_output,
    "export.ExportOutput": export_output,
    "export.PredictOutput": predict_output,
    "export.RegressionOutput": regression_output,
    "export.ServingInputReceiver": serving_receiver,
    "export.TensorServingInputReceiver": tensor_receiver,
    "export.build_parsing_serving_input_receiver_fn": parsing,
    "export.build_raw_serving_input_receiver_fn": raw,
}
