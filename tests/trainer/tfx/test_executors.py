"""The executors of TFX's components call run_fn and tuner_fn, where TFX is installed.

TFX 1.21 needs a newer C library than many machines have. Its wheels install all the same
(`uv pip install --python-platform x86_64-manylinux_2_40 tfx`); only the database of ml_metadata and
the native part of tensorflow_data_validation do not load then. These executions use neither, and
the tests replace both.
"""

import ast
import copyreg
import importlib
import json
import sys
import types
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("tfx", reason="needs tfx and its dependencies; runs where they are installed")

NATIVE = "ml_metadata.metadata_store.pywrap.metadata_store_extension"
SCHEMA = """
feature { name: "age" type: FLOAT }
feature { name: "hours" type: INT }
feature { name: "city" type: BYTES }
feature { name: "job" type: BYTES }
feature { name: "bought" type: BYTES }
"""
OPTIONS = {"model.type": "wide_deep", "hidden_units": "8", "train.batch_size": 50}


def _load_types():
    """The names of the simple types, which artifacts refer to; the database has them built in."""
    from ml_metadata.simple_types.proto import simple_types_pb2

    found = simple_types_pb2.SimpleTypes()
    for name in ("Model", "Dataset", "Metrics", "Statistics"):
        found.artifact_types.add(name=f"mlmd.{name}")
    for name in ("Train", "Transform", "Process", "Evaluate", "Deploy"):
        found.execution_types.add(name=f"mlmd.{name}")
    return found.SerializeToString(), b"", 0


@pytest.fixture(scope="module")
def tfx():
    """The parts of TFX that are used, with the native database left out if it does not load."""
    stub = types.ModuleType(NATIVE)
    stub.metadata_store = types.SimpleNamespace(LoadSimpleTypes=_load_types)
    for name, replaced in ((NATIVE, stub), ("tensorflow_data_validation", mock.MagicMock())):
        try:
            importlib.import_module(name)
        except ImportError:
            package = name.partition(".")[0]
            for loaded in [one for one in sys.modules if one.partition(".")[0] == package]:
                del sys.modules[loaded]
            sys.modules[name] = replaced
    from tfx.components.trainer.executor import GenericExecutor
    from tfx.components.tuner.executor import Executor as TunerExecutor
    from tfx.types import standard_artifacts

    return types.SimpleNamespace(
        trainer=GenericExecutor,
        tuner=TunerExecutor,
        context=TunerExecutor.Context,
        artifacts=standard_artifacts,
    )


@pytest.fixture(scope="module")
def rows(make):
    names = ("age", "hours", "city", "job", "bought")
    return [{name: row[name] for name in names} for row in make.rows(900, seed=1)]


def _to_example(row):
    """A row as a serialized tf.Example, made without the bridge, which this process cannot use."""
    import tensorflow as tf

    features = {}
    for name, value in row.items():
        if isinstance(value, str):
            given = {"bytes_list": tf.train.BytesList(value=[value.encode()])}
        elif isinstance(value, int):
            given = {"int64_list": tf.train.Int64List(value=[value])}
        elif value is not None:
            given = {"float_list": tf.train.FloatList(value=[value])}
        else:
            continue
        features[name] = tf.train.Feature(**given)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.fixture(scope="module")
def raw(tfx, rows, tmp_path_factory):
    """Examples and a schema, as ExampleGen and SchemaGen write them."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("raw")
    for split, part in (("train", rows[:600]), ("eval", rows[600:])):
        place = folder / "examples" / f"Split-{split}"
        place.mkdir(parents=True)
        path = str(place / "data_tfrecord-00000-of-00001.gz")
        with tf.io.TFRecordWriter(path, "GZIP") as writer:
            for row in part:
                writer.write(_to_example(row))
    (folder / "schema").mkdir()
    (folder / "schema" / "schema.pbtxt").write_text(SCHEMA)
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["tf2", "tf1"])
def transformed(request, raw, rows, tmp_path_factory):
    """What the Transform component writes: examples, and the graph in either format."""
    import pyarrow as pa
    import tensorflow as tf
    import tensorflow_transform as tft
    import tensorflow_transform.beam as tft_beam
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2
    from tensorflow_transform.tf_metadata import metadata_io

    folder = tmp_path_factory.mktemp("transformed")
    metadata = tft.DatasetMetadata(text_format.Parse(SCHEMA, schema_pb2.Schema()))
    data = [
        {name: [] if value is None else [value] for name, value in row.items()}
        for row in rows[:600]
    ]
    # Beam sends this object to its workers, and pyarrow 18, which TFX needs, cannot pickle it.
    copyreg.pickle(pa.ipc.IpcWriteOptions, lambda options: (pa.ipc.IpcWriteOptions, ()))
    with tft_beam.Context(temp_dir=str(folder / "temp"), force_tf_compat_v1=request.param):
        analyzed = (data, metadata) | tft_beam.AnalyzeDataset(_preprocess)
        analyzed | tft_beam.WriteTransformFn(f"{folder}/graph")
    metadata_io.write_metadata(metadata, f"{folder}/graph/metadata")
    output = tft.TFTransformOutput(f"{folder}/graph")
    spec = output.raw_feature_spec()
    coder = tft.coders.ExampleProtoCoder(output.transformed_metadata.schema)
    for split in ("train", "eval"):
        place = folder / "examples" / f"Split-{split}"
        place.mkdir(parents=True)
        path = str(place / "transformed_examples-00000-of-00001.gz")
        files = tf.io.gfile.glob(f"{raw}/examples/Split-{split}/*")
        with tf.io.TFRecordWriter(path, "GZIP") as writer:
            for record in tf.data.TFRecordDataset(files, "GZIP").batch(300):
                columns = output.transform_features_layer()(tf.io.parse_example(record, spec))
                values = {name: column.numpy() for name, column in columns.items()}
                for row in range(len(record)):
                    writer.write(coder.encode({name: one[row] for name, one in values.items()}))
    return folder


def _preprocess(inputs):
    import tensorflow as tf
    import tensorflow_transform as tft

    def dense(name, default):
        return tf.squeeze(tf.sparse.to_dense(inputs[name], default), axis=1)

    return {
        "hours_xf": tft.scale_to_z_score(tf.cast(dense("hours", 0), tf.float32)),
        "city_xf": tft.compute_and_apply_vocabulary(dense("city", ""), num_oov_buckets=1),
        "bought_xf": tf.cast(tf.equal(dense("bought", ""), "yes"), tf.int64),
    }


class Component:
    """Artifacts and properties of one execution."""

    def __init__(self, tfx, folder, custom):
        self.artifacts, self.folder = tfx.artifacts, folder
        self.properties = {
            "train_args": json.dumps({"num_steps": 30}),
            "eval_args": json.dumps({}),
            "custom_config": json.dumps(custom),
        }

    def make(self, kind, path, **fields):
        artifact = getattr(self.artifacts, kind)()
        artifact.uri = str(path)
        for name, value in fields.items():
            setattr(artifact, name, value)
        return [artifact]

    def inputs(self, examples, **more):
        splits = json.dumps(["train", "eval"])
        return {"examples": self.make("Examples", examples, split_names=splits), **more}

    def outputs(self, **kinds):
        return {name: self.make(kind, self.folder / name) for name, kind in kinds.items()}


def _answer(folder, records):
    import tensorflow as tf

    model = tf.saved_model.load(str(folder))
    answers = model.signatures["predict"](examples=tf.constant(records))
    return answers["probabilities"].numpy()


def test_the_trainer_component_trains_on_raw_examples(tfx, raw, rows, tmp_path):
    component = Component(tfx, tmp_path, {"label": "bought", "options": OPTIONS})
    component.properties["run_fn"] = "trainer.tfx.run_fn"
    outputs = component.outputs(model="Model", model_run="ModelRun")
    schema = component.make("Schema", raw / "schema")
    tfx.trainer().Do(
        component.inputs(raw / "examples", schema=schema), outputs, component.properties
    )
    served = tmp_path / "model" / "Format-Serving"
    assert (served / "saved_model.pb").is_file()
    assert list((tmp_path / "model_run").glob("events.out.tfevents.*"))
    records = [_to_example(row) for row in rows[:5]]
    assert _answer(served, records).shape == (5, 2)


def test_a_server_transforms_as_the_training_did(tfx, raw, transformed, rows, tmp_path):
    custom = {"label": {"column": "bought_xf", "num_classes": 2}, "options": OPTIONS}
    component = Component(tfx, tmp_path, custom)
    component.properties["run_fn"] = "trainer.tfx.run_fn"
    outputs = component.outputs(model="Model", model_run="ModelRun")
    graph = component.make("TransformGraph", transformed / "graph")
    tfx.trainer().Do(
        component.inputs(transformed / "examples", transform_graph=graph),
        outputs,
        component.properties,
    )
    records = []
    for row in rows[600:]:
        # A request has no label.
        records.append(_to_example({k: v for k, v in row.items() if k != "bought"}))
    answers = _answer(tmp_path / "model" / "Format-Serving", records)
    labels = [row["bought"] == "yes" for row in rows[600:]]
    import numpy as np

    loss = -np.mean(np.log(np.where(labels, answers[:, 1], answers[:, 0])))
    found = json.loads((tmp_path / "model_run" / "metrics.json").read_text())
    assert loss == pytest.approx(found["best"]["average_loss"], rel=1e-4)


def test_the_tuner_component_finds_values_that_the_trainer_takes(tfx, raw, tmp_path):
    custom = {
        "label": "bought",
        "options": OPTIONS,
        "search": ["train.learning_rate=log:1e-3..1", "hidden_units=4|8,4"],
        "max_trials": 2,
    }
    component = Component(tfx, tmp_path, custom)
    component.properties["tuner_fn"] = "trainer.tfx.tuner_fn"
    outputs = component.outputs(
        best_hyperparameters="HyperParameters", tuner_results="TunerResults"
    )
    for name in outputs:
        (tmp_path / name).mkdir()
    context = tfx.context(tmp_dir=str(tmp_path / "tmp"), unique_id="1")
    tfx.tuner(context).Do(component.inputs(raw / "examples"), outputs, component.properties)
    results = json.loads((tmp_path / "tuner_results" / "tuner_results.json").read_text())
    assert len(results) == 2 and all(0 < one["score"] < 2 for one in results)
    best = component.make("HyperParameters", tmp_path / "best_hyperparameters")
    component.properties["run_fn"] = "trainer.tfx.run_fn"
    outputs = component.outputs(model="Model", model_run="ModelRun")
    tfx.trainer().Do(
        component.inputs(raw / "examples", hyperparameters=best), outputs, component.properties
    )
    config = (tmp_path / "model_run" / "config.yaml").read_text()
    chosen = min(results, key=lambda one: one["score"])
    assert f"learning_rate: {chosen['train.learning_rate']}" in config


def test_the_fields_of_fn_args_are_those_that_the_other_tests_use(tfx):
    import attr
    from tfx.components.trainer.fn_args_utils import FnArgs
    from tfx.components.tuner.component import TunerFnResult

    # The other tests cannot be imported here: they use the bridge.
    tree = ast.parse(Path(__file__).with_name("test_tfx.py").read_text(encoding="utf-8"))
    (given,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "FN_ARGS"
    ]
    assert [one.name for one in attr.fields(FnArgs)] == given
    assert TunerFnResult._fields == ("tuner", "fit_kwargs")
