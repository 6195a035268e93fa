"""The TensorFlow 1.x view, and which modules get it."""

import concurrent.futures
import functools
import importlib
import os
import pkgutil
import pydoc
import sys
import types

import absl.flags
import numpy as np
import pytest
import tensorflow as tf

from estimator_bridge.audit.symbol import data
from estimator_bridge.tf1 import private_keras
from estimator_bridge.tf1.unsupported import NotSuppliedError, StandIn


def test_program_runs_in_graph_mode_with_dimensions():
    assert not tf.executing_eagerly()
    x = tf.placeholder(tf.float32, [None, 3])
    assert x.shape[1].value == 3
    assert x.get_shape().as_list() == [None, 3]
    assert isinstance(x.shape[0], tf.Dimension)
    assert tf.get_variable("v", [2]).op.type == "VariableV2"


def test_dimension_accepts_a_whole_float():
    size = np.float32(16) / 2
    assert tf.placeholder(tf.float32, [None, size]).shape.as_list() == [None, 8]
    assert tf.get_variable("halves", [size, 3]).shape == tf.TensorShape([8.0, 3])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(16 / 2), tf.ones([2, 4, 3]), [4, 1], dtype=tf.float32
    )
    assert outputs.shape.as_list() == [2, 4, 8]
    with pytest.raises(ValueError, match="Ambiguous dimension: 8.5"):
        tf.TensorShape([None, 8.5])
    with pytest.raises(TypeError, match="8"):
        tf.TensorShape([None, "8"])


def test_version_compares_as_1x():
    from distutils.version import LooseVersion

    assert tf.__version__ == tf.VERSION == tf.version.VERSION
    assert tf.__version__.startswith("1.")
    assert LooseVersion("1.4") <= LooseVersion(tf.__version__) < LooseVersion("2.0")
    assert int(tf.__version__.split(".")[1]) >= 15


def test_libraries_still_import_tensorflow_2():
    from tensorflow.python.framework import versions

    seen = {}
    code = "import tensorflow\nfrom tensorflow import nn\nversion = tensorflow.__version__"
    for name in ("keras.src.layers", "tf_keras", "tensorflow_hub.module", "tensorboard"):
        seen[name] = {"__name__": name}
        exec(code, seen[name])
    assert {scope["version"] for scope in seen.values()} == {versions.VERSION}
    program = {"__name__": "trainer.model"}
    exec(code, program)
    assert program["tensorflow"] is tf
    assert program["nn"] is tf.nn


def test_all_forms_of_import_return_the_view():
    import tensorflow
    import tensorflow.contrib.layers as contrib_layers
    import tensorflow.contrib.slim as slim
    import tensorflow.estimator as estimator_module
    import tensorflow.keras.backend as backend
    from tensorflow import contrib, estimator
    from tensorflow.contrib import layers
    from tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
    from tensorflow.contrib.layers.python.layers import initializers, utils
    from tensorflow.contrib.rnn.python.ops import core_rnn_cell
    from tensorflow.contrib.training.python.training.hparam import HParams
    from tensorflow.keras.layers import Dense
    from tensorflow.python.estimator.canned import head
    from tensorflow.python.framework import ops
    from tensorflow.python.framework.ops import Tensor
    from tensorflow.python.keras.layers import LSTM
    from tensorflow.python.layers.normalization import BatchNormalization
    from tensorflow.python.ops import array_ops, control_flow_ops, math_ops
    from tensorflow.python.platform import gfile, tf_logging
    from tensorflow.python.training import session_run_hook, training_ops, training_util
    from tensorflow.train import AdamOptimizer

    assert tensorflow is tf
    assert contrib_layers is layers is contrib.layers is tf.contrib.layers
    assert estimator_module is estimator is tf.estimator
    assert slim.conv2d is layers.conv2d
    assert arg_scope is tf.contrib.framework.arg_scope
    assert initializers.xavier_initializer is layers.xavier_initializer
    assert utils.collect_named_outputs
    assert core_rnn_cell.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert HParams is tf.contrib.training.HParams
    assert Dense is tf.keras.layers.Dense
    assert LSTM is tf.keras.layers.LSTM
    assert issubclass(BatchNormalization, tf.layers.BatchNormalization)
    assert backend.get_session
    assert isinstance(tf.constant(1), Tensor) and ops.Tensor is Tensor
    assert AdamOptimizer is tf.train.AdamOptimizer
    assert gfile.Exists is tf.gfile.Exists and tf_logging.info
    assert head and array_ops and math_ops and training_util and training_ops
    assert control_flow_ops.cond is tf.cond
    assert session_run_hook.SessionRunHook is tf.train.SessionRunHook


def test_importing_by_name_returns_the_view():
    assert importlib.import_module("tensorflow") is tf
    assert importlib.import_module("tensorflow.contrib.layers") is tf.contrib.layers
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        in_thread = threads.submit(importlib.import_module, "tensorflow.estimator").result()
    for module in (
        importlib.import_module("tensorflow.estimator"),
        importlib.import_module(".estimator", "tensorflow"),
        importlib.__import__("tensorflow.estimator", fromlist=["LinearClassifier"]),
        functools.partial(importlib.import_module, "tensorflow.estimator")(),
        pkgutil.resolve_name("tensorflow.estimator"),
        pydoc.locate("tensorflow.estimator"),
        in_thread,
    ):
        assert module.LinearClassifier is tf.estimator.LinearClassifier
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.contrib\.none"):
        importlib.import_module("tensorflow.contrib.none")
    # Programs look for a class in several packages with `locate`.
    assert pydoc.locate("tensorflow.initializers.none") is None
    assert pydoc.locate("tensorflow.layers.NoLayer") is None
    assert pydoc.locate("tensorflow.contrib.layers.none") is None
    assert pydoc.locate("tensorflow.contrib.rnn.GRUCell") is tf.contrib.rnn.GRUCell
    for name, missing in (
        ("tensorflow.initializers.none.more", "tensorflow.initializers.none"),
        ("tensorflow.none.more", "tensorflow.none"),
    ):
        with pytest.raises(ModuleNotFoundError) as raised:
            importlib.import_module(name)
        assert raised.value.name == missing
    library = {"__name__": "tensorflow_hub.module", "import_module": importlib.import_module}
    exec("version = import_module('tensorflow').__version__", library)
    assert not library["version"].startswith("1.")


def test_private_modules_of_keras_are_those_of_tf_keras():
    import tensorflow.python.keras._impl.keras.backend as backend
    import tensorflow.python.keras.utils as utils
    from tensorflow.python import keras
    from tensorflow.python.keras import _impl, layers
    from tensorflow.python.keras._impl.keras.engine.topology import Network
    from tensorflow.python.keras.layers.cudnn_recurrent import CuDNNLSTM, _CuDNNRNN
    from tensorflow.python.keras.layers.normalization import (
        BatchNormalization,
        BatchNormalizationBase,
    )
    from tensorflow.python.keras.layers.recurrent import RNN, _generate_dropout_mask
    from tensorflow.python.keras.layers.recurrent import _gone_long_ago as gone
    from tensorflow.python.keras.utils.multi_gpu_utils import multi_gpu_model
    from tensorflow.python.layers.convolutional import Conv2D, _Conv
    from tensorflow.python.layers.layers import conv2d

    assert keras.layers.Dense is layers.Dense is tf.keras.layers.Dense
    assert tf.python.keras.models.Model is tf.keras.Model
    assert utils.to_categorical is tf.keras.utils.to_categorical
    assert backend.get_session is _impl.keras.backend.get_session
    assert Network is tf.keras.Model
    assert multi_gpu_model is tf.keras.utils.multi_gpu_model
    assert issubclass(CuDNNLSTM, _CuDNNRNN) and issubclass(CuDNNLSTM, RNN)
    assert BatchNormalization is tf.keras.layers.BatchNormalization
    assert issubclass(BatchNormalization, BatchNormalizationBase)
    assert callable(_generate_dropout_mask) and conv2d
    assert Conv2D is tf.layers.Conv2D
    for stand_in, remedy in (
        (gone, "private name of Keras"),
        (_Conv, "private name of Keras"),
    ):
        with pytest.raises(NotSuppliedError, match=remedy):
            stand_in()
    with pytest.raises(ImportError, match="keras.nothing_like_it"):
        import tensorflow.python.keras.nothing_like_it  # noqa: F401


def test_private_names_that_have_moved():
    from tensorflow.python.distribute import distribution_strategy_context
    from tensorflow.python.distribute.distribution_strategy_context import get_replica_context
    from tensorflow.python.estimator.canned import linear
    from tensorflow.python.estimator.canned.dnn import _dnn_logit_fn_builder
    from tensorflow.python.estimator.canned.head import (
        _regression_head,
        _regression_head_with_mean_squared_error_loss,
    )
    from tensorflow.python.feature_column.dense_features import DenseFeatures
    from tensorflow.python.framework import op_def_registry, tensor_shape
    from tensorflow.python.ops import control_flow_ops, random_ops
    from tensorflow.python.profiler import profile_context
    from tensorflow.python.pywrap_tensorflow_internal import NewCheckpointReader
    from tensorflow.python.training.distribution_strategy_context import get_tower_context

    assert tensor_shape.scalar().as_list() == [] and tensor_shape.vector(2).as_list() == [2]
    assert tensor_shape.matrix(None, 3).as_list() == [None, 3]
    assert random_ops.random_crop is tf.random_crop
    assert control_flow_ops.switch_case is tf.switch_case
    assert NewCheckpointReader is tf.train.NewCheckpointReader
    registered = op_def_registry.get_registered_ops()
    assert registered["MatMul"].input_arg[1].name == "b" and "Placeholder" in registered
    assert registered is op_def_registry.get_registered_ops()
    assert profile_context.ProfileContext is tf.contrib.tfprof.ProfileContext
    assert DenseFeatures is tf.keras.layers.DenseFeatures
    assert get_tower_context is get_replica_context is tf.distribute.get_replica_context
    assert distribution_strategy_context.has_strategy is tf.distribute.has_strategy
    assert _dnn_logit_fn_builder.__name__ == "dnn_logit_fn_builder"
    assert linear._linear_logit_fn_builder is linear.linear_logit_fn_builder
    assert _regression_head_with_mean_squared_error_loss is _regression_head


def test_private_datasets_are_those_of_1x():
    from tensorflow.python.data import Dataset, TextLineDataset, experimental

    assert Dataset is tf.data.Dataset
    assert TextLineDataset is tf.data.TextLineDataset
    assert experimental.CsvDataset is tf.data.experimental.CsvDataset
    assert experimental.make_csv_dataset is tf.data.experimental.make_csv_dataset
    Dataset.from_tensors([1]).make_one_shot_iterator()


def test_private_cells_are_those_of_tf_nn():
    from tensorflow.python.keras.engine import input_spec
    from tensorflow.python.layers import base
    from tensorflow.python.ops import rnn_cell, rnn_cell_impl
    from tensorflow.python.ops.rnn_cell_impl import _check_supported_dtypes

    starred = {}
    exec("from tensorflow.python.ops.rnn_cell_impl import *", {"__name__": "__main__"}, starred)
    for name in ("BasicLSTMCell", "DropoutWrapper", "LSTMStateTuple", "MultiRNNCell", "RNNCell"):
        public = getattr(tf.nn.rnn_cell, name)
        assert getattr(rnn_cell_impl, name) is getattr(rnn_cell, name) is starred[name] is public
    assert issubclass(tf.nn.rnn_cell.GRUCell, starred["LayerRNNCell"])
    assert starred["vs"].variable_scope and starred["base_layer"] is rnn_cell_impl.base_layer
    assert starred["ops"].name_scope and starred["nest"].is_sequence(())
    assert _check_supported_dtypes(tf.float32) is None

    class Cell(starred["LayerRNNCell"]):
        state_size = output_size = 2

        def __init__(self, spec):
            super().__init__()
            self.input_spec = spec(ndim=2)

        def call(self, inputs, state):
            return inputs + state, inputs

    specs = (input_spec.InputSpec, base.InputSpec, tf.layers.InputSpec, tf.keras.layers.InputSpec)
    for spec in specs:
        output, _ = tf.nn.dynamic_rnn(Cell(spec), tf.ones([3, 4, 2]), dtype=tf.float32)
        assert output.shape.as_list() == [3, 4, 2]


def test_private_modules_of_contrib_have_the_names_of_1x():
    from tensorflow.contrib.framework.python.ops.variables import get_or_create_global_step
    from tensorflow.contrib.learn.python.learn.learn_io import graph_io, numpy_io
    from tensorflow.contrib.learn.python.learn.learn_io.generator_io import generator_input_fn
    from tensorflow.python.ops.variable_scope import variable

    learn = tf.contrib.learn
    assert variable is tf.Variable and tf.contrib.slim.init_ops.zeros_initializer()
    assert get_or_create_global_step is tf.contrib.framework.get_or_create_global_step
    assert generator_input_fn is learn.io.generator_input_fn
    assert numpy_io.numpy_input_fn is learn.io.numpy_input_fn
    assert graph_io.read_batch_features is learn.read_batch_features


def test_private_names_of_contrib_that_have_moved():
    from tensorflow.contrib.cluster_resolver.python.training import TPUClusterResolver
    from tensorflow.contrib.distribute.python import mirrored_strategy
    from tensorflow.contrib.eager.python import tfe
    from tensorflow.contrib.learn.python.learn.preprocessing.text import VocabularyProcessor
    from tensorflow.contrib.learn.python.learn.utils.saved_model_export_utils import (
        garbage_collect_exports,
    )
    from tensorflow.contrib.lookup.lookup_ops import index_table_from_file
    from tensorflow.contrib.rnn.python.ops.core_rnn import _reverse_seq
    from tensorflow.contrib.seq2seq.python.ops.decoder import _transpose_batch_time
    from tensorflow.contrib.tpu.python.tpu import error_handling, tpu_context
    from tensorflow.contrib.tpu.python.tpu.util import check_positive_integer
    from tensorflow.contrib.util.loader import load_op_library

    with pytest.raises(ValueError, match="rows must be positive"):
        check_positive_integer(0, "rows")
    assert tpu_context.TPUContext and TPUClusterResolver
    assert error_handling.ErrorRendezvous(num_sources=3)
    assert issubclass(tf.distribute.MirroredStrategy, mirrored_strategy.MirroredStrategyV1)
    assert tfe.enable_eager_execution is tf.enable_eager_execution
    assert VocabularyProcessor is tf.contrib.learn.preprocessing.VocabularyProcessor
    assert index_table_from_file is tf.contrib.lookup.index_table_from_file
    assert callable(_reverse_seq) and callable(_transpose_batch_time)
    assert load_op_library is tf.load_op_library
    with pytest.raises(NotSuppliedError, match="garbage_collect_exports"):
        garbage_collect_exports("folder", 3)


def test_names_that_modules_of_layers_have_lost():
    for module, names in private_keras.NAMES.items():
        for name in names:
            found = {}
            exec(f"from {module} import {name} as found", found)  # noqa: S102 - fixed names
            assert callable(found["found"]) and not isinstance(found["found"], StandIn), name


@pytest.mark.parametrize("parent", ["api", "python"])
def test_private_paths_of_keras_in_contrib(parent):
    path = f"tensorflow.contrib.keras.{parent}"
    names = {}
    statements = [
        f"import {path}.keras as whole",
        f"import {path}.keras.backend as backend",
        f"from {path} import keras",
        f"from {path}.keras.engine import Model",
        f"from {path}.keras.engine.topology import Layer",
        f"from {path}.keras.layers.core import Dense",
        f"from {path}.keras.layers.merge import concatenate",
        f"from {path}.keras.utils.np_utils import to_categorical",
        f"import tensorflow as tf; Sequential = tf.contrib.keras.{parent}.keras.models.Sequential",
    ]
    for statement in statements:
        exec(statement, names)  # noqa: S102 - the imports of the test
    public = tf.keras
    assert names["whole"].layers.Dense is names["Dense"] is public.layers.Dense
    assert names["keras"].losses.mean_squared_error is public.losses.mean_squared_error
    assert names["backend"].set_session is public.backend.set_session
    assert names["Model"] is public.Model and names["Sequential"] is public.Sequential
    assert names["Layer"] is public.layers.Layer
    assert names["concatenate"] is public.layers.concatenate
    assert names["to_categorical"] is public.utils.to_categorical


def test_names_of_0x(run, tmp_path):
    x = tf.constant([[1.0, 2.0]])
    values = run(
        [tf.mul(x, 3.0), tf.sub(x, 1.0), tf.pack([x, x]), tf.batch_matmul(x, x, adj_y=True)]
    )
    assert [value.tolist() for value in values] == [
        *([[3.0, 6.0]], [[0.0, 1.0]], [[[1.0, 2.0]], [[1.0, 2.0]]], [[5.0]]),
    ]
    with tf.name_scope("scope"):
        loss = tf.scalar_summary("the loss", tf.constant(2.5))
    assert loss.op.type == "ScalarSummary" and loss.op.name == "scope/ScalarSummary"
    tf.contrib.deprecated.histogram_summary("spread", x)
    tf.image_summary("picture", tf.zeros([1, 2, 2, 1]))
    tf.audio_summary("sound", tf.zeros([1, 8]), 8000)
    writer = tf.train.SummaryWriter(str(tmp_path))
    writer.add_summary(run(tf.merge_all_summaries()), 7)
    writer.close()
    (path,) = tmp_path.iterdir()
    tags = [v.tag for event in tf.train.summary_iterator(str(path)) for v in event.summary.value]
    assert tags == ["the loss", "spread", "picture/image/0", "sound/audio/0"]
    assert tf.merge_all_summaries("empty") is None


def test_1x_argument_names(run):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    results = run(
        [
            tf.reduce_sum(x, axis=1, keep_dims=True),
            tf.reduce_mean(x, reduction_indices=[0]),
            tf.argmax(x, dimension=1),
            tf.nn.softmax(x, dim=0),
            tf.expand_dims(x, dim=0),
            tf.to_int32(x),
            tf.sparse_tensor_to_dense(tf.string_split(["a b", "c"]), default_value="-"),
            tf.decode_csv(["1,x"], record_defaults=[[0], [""]]),
            tf.nn.dropout(x, keep_prob=1.0),
            tf.nn.l2_normalize(x, dim=1),
        ]
    )
    assert results[0].tolist() == [[3.0], [8.0]]
    assert results[1].tolist() == [2.0, 3.5]
    assert results[2].tolist() == [1, 1]
    np.testing.assert_allclose(results[3].sum(axis=0), [1, 1], rtol=1e-6)
    assert results[4].shape == (1, 2, 2)
    assert results[5].dtype == np.int32
    assert results[6].tolist() == [[b"a", b"b"], [b"c", b"-"]]
    assert [value.tolist() for value in results[7]] == [[1], [b"x"]]


def test_datasets_have_the_1x_api(tmp_path, run):
    path = tmp_path / "lines.txt"
    path.write_text("1\n2\n3\n")
    dataset = tf.data.TextLineDataset([str(path)]).map(lambda line: tf.string_to_number(line))
    dataset = dataset.apply(tf.contrib.data.map_and_batch(lambda x: x * 2, 3))
    assert dataset.output_types == tf.float32
    assert run(dataset.make_one_shot_iterator().get_next()).tolist() == [2.0, 4.0, 6.0]


def test_flags_may_use_the_names_of_absl_logging():
    tf.app.flags.DEFINE_string("log_dir", "here", "Mine.")
    tf.flags.DEFINE_string("verbosity", "INFO", "Mine.")
    tf.flags.FLAGS(["program", "--verbosity=WARN"])
    assert tf.flags.FLAGS.log_dir == "here"
    assert tf.app.flags.FLAGS.verbosity == "WARN"
    with pytest.raises(absl.flags.DuplicateFlagError):
        tf.flags.DEFINE_string("log_dir", "twice", "Mine.")


def test_unsupported_names_raise_where_they_are_used():
    from tensorflow.contrib.distribute.python.values import PerDevice
    from tensorflow.contrib.gan import GANEstimator
    from tensorflow.contrib.rnn import BasicLSTMCell, NTMCell
    from tensorflow.contrib.slim.nets import alexnet

    assert BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    for use, symbol in (
        (lambda: PerDevice(), "tf.contrib.distribute.python.values.PerDevice"),
        (lambda: tf.contrib.recurrent.Recurrent, "tf.contrib.recurrent.Recurrent.*tf.scan"),
        (lambda: tf.contrib.graph_editor.swap_ios, "tf.contrib.graph_editor.swap_ios.*reroute_ts"),
        (lambda: GANEstimator(), "tf.contrib.gan.GANEstimator"),
        (lambda: tf.contrib.gan.estimator.GANEstimator, "tf.contrib.gan.estimator.*pip install"),
        (lambda: tf.contrib.tpu.infeed_enqueue_tuple([]), "infeed_enqueue_tuple.*input_fn"),
        (lambda: tf.contrib.tpu.rewrite_for_inference(None), "rewrite_for_inference.*export"),
        (lambda: tf.contrib.tpu.export_estimator_savedmodel(None), "export_saved_model"),
        (lambda: tf.contrib.eager.Network, "tf.contrib.eager.Network.*tf.keras.Model"),
        (lambda: tf.contrib.tensorrt.create_inference_graph(), "tf.contrib.tensorrt.*TensorRT"),
        (lambda: NTMCell(3), "tf.contrib.rnn.NTMCell"),
        (lambda: alexnet.alexnet_v2, "tf.contrib.slim.nets.alexnet"),
        (lambda: types.new_class("Mine", (NTMCell,)), "NTMCell"),
        (lambda: tf.contrib.opt.ShampooOptimizer, "tf.contrib.opt.ShampooOptimizer"),
    ):
        with pytest.raises(AttributeError, match=symbol):
            use()
    assert not hasattr(tf.contrib.rnn, "NTMCell")
    assert not hasattr(tf.contrib, "nothing_like_it")
    with pytest.raises(ImportError, match=r"tensorflow\.contrib\.nothing_like_it"):
        import tensorflow.contrib.nothing_like_it  # noqa: F401


def test_gan_is_passed_on_to_the_installed_package(monkeypatch):
    package = types.ModuleType("tensorflow_gan")
    package.gan_loss = len
    monkeypatch.setitem(sys.modules, "tensorflow_gan", package)
    from tensorflow.contrib import gan
    from tensorflow.contrib.gan.python import train

    assert gan.gan_loss is len and train.gan_loss is len
    assert not hasattr(gan, "nothing_like_it")


def test_the_decoder_of_slim_has_a_module():
    from tensorflow.contrib.slim.python.slim.data import data_decoder

    slim = tf.contrib.slim
    assert data_decoder.DataDecoder is slim.data_decoder.DataDecoder
    assert issubclass(slim.tfexample_decoder.TFExampleDecoder, slim.data_decoder.DataDecoder)


def test_contrib_names_work_or_name_a_remedy():
    silent, supplied = [], 0
    for package, entry in data("contrib").items():
        for name in entry["names"]:
            symbol = f"tf.contrib.{package}.{name}"
            try:
                value = getattr(getattr(tf.contrib, package), name)
                supplied += 1
                if isinstance(value, StandIn):
                    supplied -= 1
                    value()
            except NotSuppliedError as error:
                missing, _, advice = str(error).partition(" is not supplied to ")
                if missing not in (symbol, f"tf.contrib.{package}") or len(advice) < 20:
                    silent.append(str(error))
            except AttributeError as error:
                silent.append(f"{symbol}: {error}")
    assert silent == []
    assert supplied > 600


def test_moved_packages_of_contrib(run):
    from tensorflow.contrib import distributions as ds
    from tensorflow.contrib.keras import layers
    from tensorflow.contrib.staging import StagingArea
    from tensorflow.contrib.stateless import stateless_random_uniform

    assert layers.Dense is tf.keras.layers.Dense
    assert tf.contrib.linalg.LinearOperatorDiag is tf.linalg.LinearOperatorDiag
    area = StagingArea([tf.float32])
    put = area.put([ds.Normal(0.0, 1.0).prob(0.0)])
    with tf.control_dependencies([put]):
        taken = tf.identity(area.get())
    taken, drawn = run([taken, stateless_random_uniform([3], seed=[1, 2])])
    np.testing.assert_allclose(taken, 0.39894, rtol=1e-4)
    assert drawn.shape == (3,)
    name = "tf.contrib.distributions.VectorDiffeomixture"
    with pytest.raises(AttributeError, match=f"{name}.*tfp.distributions"):
        ds.VectorDiffeomixture  # noqa: B018


def test_public_names_of_1x_exist():
    from tensorflow.tools.compatibility import renames_v2

    missing = []
    for name in sorted(renames_v2.renames):
        _, *parts = name.split(".")
        if not name.startswith("tf.") or parts[0] == "contrib" or name in _NEVER_OR_GONE:
            continue
        value = tf
        try:
            for part in parts:
                value = getattr(value, part)
        except AttributeError:
            missing.append(name)
    assert missing == []


# 1.x did not have the first name; the others need embedding tables on a TPU.
_NEVER_OR_GONE = (
    {"tf.train.confusion_matrix"}
    | {
        f"tf.tpu.experimental.{name}Parameters"
        for name in ("Adagrad", "Adam", "Ftrl", "StochasticGradientDescent")
    }
    | {f"tf.tpu.experimental.{name}" for name in ("embedding_column", "shared_embedding_columns")}
)


def test_flag_belongs_to_its_defining_module():
    values = tf.flags.FLAGS
    tf.flags.DEFINE_integer("flag_of_this_check", 3, "Whose is it?")
    tf.app.flags.DEFINE_string("other_flag_of_this_check", "x", "Whose is it?")
    for name in ("flag_of_this_check", "other_flag_of_this_check"):
        owner = values.find_module_defining_flag(name)
        assert "flags" not in os.path.basename(owner), owner
        delattr(values, name)


def test_a_py_func_does_not_parse_numpys_version_for_each_value(run, monkeypatch):
    parsed = []
    original = np.lib.NumpyVersion.__init__

    def parse(self, text):
        parsed.append(text)
        original(self, text)

    element = tf.py_func(
        lambda value: [value, [1, 2], "text"], [3.0], [tf.float32, tf.int64, tf.string]
    )
    first = run(element)  # makes the only comparison
    monkeypatch.setattr(np.lib.NumpyVersion, "__init__", parse)
    again = run(element)
    assert [np.asarray(one).tolist() for one in again] == [3.0, [1, 2], b"text"]
    assert str(again) == str(first) and not parsed


def test_functions_of_shapes_are_those_of_1x():
    from tensorflow.python.framework import common_shapes

    known, partly, unknown = (
        tf.ones([2, 3]),
        tf.placeholder(tf.float32, [None, 3]),
        tf.sparse_placeholder(tf.float32).values,
    )
    assert [common_shapes.rank(one) for one in (known, partly)] == [2, 2]
    assert common_shapes.rank(tf.placeholder(tf.float32)) is None
    defined = [common_shapes.has_fully_defined_shape(one) for one in (known, partly, unknown)]
    assert defined == [True, False, False]
    same = tf.identity(known).op
    assert common_shapes.scalar_shape(same)[0].as_list() == []
    assert common_shapes.no_outputs(same) == []
    assert common_shapes.unknown_shape(same)[0].ndims is None
    assert common_shapes.unchanged_shape(same)[0].as_list() == [2, 3]
    assert common_shapes.unchanged_shape_with_rank(2)(same)[0].as_list() == [2, 3]
    anything = tf.identity(tf.placeholder(tf.float32)).op
    assert common_shapes.unchanged_shape_with_rank(2)(anything)[0].as_list() == [None, None]
    assert common_shapes.unchanged_shape_with_rank_at_least(2)(anything)[0].ndims is None
    for wrong in (
        common_shapes.unchanged_shape_with_rank(1),
        common_shapes.unchanged_shape_with_rank_at_least(3),
        common_shapes.unchanged_shape_with_rank_at_most(1),
    ):
        with pytest.raises(ValueError, match=r"must have rank"):
            wrong(same)
    product = tf.matmul(known, known, transpose_b=True).op
    assert common_shapes.matmul_shape(product)[0].as_list() == [2, 2]
    sizes, filters, strides = (7, 9), (3, 2), (2, 3)
    assert common_shapes.get_conv_output_size(sizes, filters, strides, b"SAME") == (4, 3)
    assert common_shapes.get_conv_output_size(sizes, filters, strides, b"VALID") == (3, 3)
    assert common_shapes.get_conv_output_size((None, 9), filters, strides, b"SAME") == (None, 3)
    assert common_shapes.get2d_conv_output_size(7, 9, 3, 2, 2, 3, b"SAME") == (4, 3)
    with pytest.raises(ValueError, match="Invalid padding: 'SAME'"):
        common_shapes.get_conv_output_size(sizes, filters, strides, "SAME")
    with pytest.raises(ValueError, match="Filter must not be larger than the input"):
        common_shapes.get_conv_output_size((2, 9), filters, strides, b"VALID")


def test_defun_of_the_private_module_makes_functions():
    from tensorflow.python.eager import function

    @function.defun(autograph=False)
    def add(x):
        return x + 1.0

    assert function.defun is tf.contrib.eager.defun
    with tf.Session() as session:
        assert session.run(add(tf.constant(2.0))) == 3.0


def test_graph_transforms_name_what_to_use():
    from tensorflow.tools.graph_transforms import TransformGraph

    graph = tf.get_default_graph().as_graph_def()
    with pytest.raises(NotSuppliedError, match="use tf.graph_util.extract_sub_graph") as caught:
        TransformGraph(graph, ["x"], ["y"], ["strip_unused_nodes"])
    assert "\n" not in str(caught.value)
    for name in ("extract_sub_graph", "remove_training_nodes"):
        assert name in str(caught.value) and callable(getattr(tf.graph_util, name))


def test_variables_of_collections_convert_to_messages():
    from tensorflow.python.ops import resource_variable_ops

    for use_resource in (False, True):
        name = f"v{use_resource:d}"
        variable = tf.get_variable(name, [2], use_resource=use_resource)
        message = resource_variable_ops._to_proto_fn(variable)
        assert message.variable_name == variable.name
        assert resource_variable_ops._from_proto_fn(message).name == variable.name
