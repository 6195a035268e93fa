"""Names that Python, NumPy, pandas and SciPy removed and that `run --tf1` restores."""

# ruff: noqa: UP005

import array
import base64
import collections
import configparser
import errno
import html.parser
import imghdr
import imp
import importlib
import inspect
import io
import json
import math
import os
import pipes
import random
import re
import sys
import threading
import time
import unittest
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import tensorflow as tf
from google.protobuf import descriptor_pb2, json_format, text_format

from estimator_bridge.old_packages import protobuf_flags


def test_removed_numpy_names_work():
    assert np.float is float and np.int is int and np.object is object
    assert np.asscalar(np.array([3])) == 3
    assert np.PINF > 0 > np.NINF and np.round_(1.26, 1) == 1.3
    assert np.asfarray([1, 2]).dtype == np.float64
    assert np.asfarray([1, 2], np.float32).dtype == np.float32
    assert np.in1d([[1, 2], [3, 4]], [2, 3]).tolist() == [False, True, True, False]
    assert np.trapz([0, 1, 2]) == 2 and np.row_stack([[1], [2]]).shape == (2, 1)


def test_numbers_of_numpy_print_as_numbers():
    metrics = {"loss": np.float32(0.5), "step": np.int64(3), "best": np.True_}
    assert str(metrics) == "{'loss': 0.5, 'step': 3, 'best': True}"
    np.set_printoptions(precision=3)
    assert repr([np.float32(0.25)]) == "[0.25]"
    np.set_printoptions(precision=8)


def test_removed_names_of_pandas_work():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert frame.as_matrix().tolist() == [[1, 0.5], [2, 1.5]]
    assert frame.as_matrix(["b"]).shape == (2, 1) and frame.a.as_matrix().tolist() == [1, 2]
    assert dict(frame.iteritems())["a"].tolist() == [1, 2] == frame.a.get_values().tolist()
    assert frame.get_value(1, "b") == 1.5
    both = frame.append(frame)
    assert both.index.tolist() == [0, 1, 0, 1] and len(frame.append([frame, frame])) == 6
    grown = frame.append({"b": 2.5, "a": 3}, ignore_index=True)
    assert grown.a.tolist() == [1, 2, 3] and grown.columns.tolist() == ["a", "b"]
    named = frame.append(pd.Series({"a": 7, "b": 8.0}, name="last"))
    assert named.loc["last", "a"] == 7
    assert frame.a.append(frame.a, ignore_index=True).tolist() == [1, 2, 1, 2]
    with pytest.raises(TypeError, match="ignore_index"):
        frame.append({"a": 3})
    assert pd.np is np and pd.datetime(2019, 1, 2).year == 2019


def test_removed_attributes_of_sparse_matrices_work():
    matrix = scipy.sparse.csr_matrix([[1j, 0], [2, 3]])
    assert matrix.A.tolist() == [[1j, 0], [2, 3]] and matrix.H.A.tolist() == [[-1j, 2], [0, 3]]


def test_arrays_convert_to_strings_and_back():
    image = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert image.tostring() == image.tobytes() and image.T.tostring("F") == image.tobytes()
    assert np.float32(2).tostring() == np.float32(2).tobytes()
    read = np.fromstring(image.tostring(), dtype=np.int16)
    read[0] = 9  # a writable copy
    assert read.tolist() == [9, 1, 2, 3, 4, 5]
    assert np.fromstring("abc", np.uint8).tolist() == [97, 98, 99]
    assert np.fromstring("1 2 3", dtype=int, sep=" ").tolist() == [1, 2, 3]
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tostring()]))
    assert feature.bytes_list.value[0] == image.tobytes()


def test_removed_standard_library_names_work():
    assert list(xrange(2)) == [0, 1]  # noqa: F821
    assert issubclass(dict, collections.Mapping)
    assert inspect.getargspec(lambda a, b=1: None).args == ["a", "b"]
    parser = configparser.SafeConfigParser()
    parser.readfp(io.StringIO("[job]\nsteps=3\n"))
    assert parser.getint("job", "steps") == 3
    assert pipes.quote("a b") == "'a b'"
    assert time.clock() >= 0
    assert os.errno.EEXIST == errno.EEXIST


def test_removed_calls_of_the_standard_library_work(tmp_path):
    assert len(random.sample({1, 2, 3}, 2)) == 2 and random.sample({"a": 1}.keys(), 1) == ["a"]
    shuffled = list(range(8))
    random.shuffle(shuffled, random.Random(0).random)
    assert shuffled == [0, 3, 4, 7, 1, 2, 5, 6]
    assert random.Random(0).sample(range(10), 3) == [6, 9, 0]
    assert random.randint(3, 3.0) == 3 and math.factorial(3.0) == 6
    random.seed((1, 2))
    assert json.loads("{}", encoding="utf8") == {}
    (tmp_path / "lines.txt").write_bytes(b"a\r\nb\rc")
    with open(tmp_path / "lines.txt") as file:
        assert file.read().split("\n") == ["a", "b", "c"]
    assert re.sub(r"a(?i)b", "x", "AB") == "x" and re.compile("(?m)a(?i)b").flags & re.M
    with pytest.raises(re.error, match="unterminated"):
        re.compile("(a")
    assert not threading.Thread().isAlive()
    assert base64.decodestring(base64.encodestring(b"a")) == b"a"
    numbers = array.array("B", [1])
    numbers.fromstring(numbers.tostring())
    assert numbers.tolist() == [1, 1]
    root = ElementTree.fromstring("<a><b/><b/></a>")
    assert len(root.getchildren()) == len(list(root.getiterator("b"))) == 2
    assert html.parser.HTMLParser().unescape("&lt;") == "<"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python has the module")
def test_a_removed_module_names_its_package():
    with pytest.raises(ModuleNotFoundError, match="pip install standard-telnetlib"):
        importlib.import_module("telnetlib")
    assert importlib.util.find_spec("telnetlib") is None


def test_invalid_escapes_are_accepted_without_a_warning():
    with warnings.catch_warnings(record=True) as caught:
        assert eval(r"'\d'") == r"\d" and eval("1 is 1")
    # Up to Python 3.11, as in 3.7, an escape is one of the deprecations, which pytest shows.
    assert {one.category for one in caught} <= {DeprecationWarning}


def test_imp_loads_a_file(tmp_path):
    path = tmp_path / "settings.conf"
    path.write_text("STEPS = 3\nNAME = __name__\n", encoding="utf-8")
    module = imp.load_source("settings_of_this_check", str(path))
    assert (module.STEPS, module.NAME) == (3, "settings_of_this_check")
    (tmp_path / "found.py").write_text("X = 1\n", encoding="utf-8")
    file, name, description = imp.find_module("found", [str(tmp_path)])
    with file:
        assert imp.load_module("found_again", file, name, description).X == 1
    with pytest.raises(ImportError, match="absent"):
        imp.find_module("absent", [str(tmp_path)])


def test_imghdr_detects_formats(tmp_path):
    with tf.Session() as session:
        image = np.zeros([4, 4, 3], np.uint8)
        jpeg, png = session.run([tf.image.encode_jpeg(image), tf.image.encode_png(image)])
    (tmp_path / "a.jpg").write_bytes(jpeg)
    assert imghdr.what(str(tmp_path / "a.jpg")) == "jpeg"
    assert imghdr.what(None, h=png) == "png"
    assert imghdr.what(io.BytesIO(b"no image")) is None


def test_lists_of_integers_take_flags():
    flags = np.array([[1, 0], [1, 1]]) == 1
    made = [
        tf.train.Int64List(value=flags[0]),
        tf.train.Int64List(value=[True, np.bool_(False)]),
        tf.train.Int64List(value=(value for value in [True, 0])),
        tf.train.Int64List(),
        tf.train.Example().features.feature["x"].int64_list,
    ]
    made[3].value.append(True)
    made[3].value.append(np.bool_(False))
    made[4].value.extend(value for value in flags[0])
    for one in made:
        assert list(one.value) == [1, 0]
        assert {type(value) for value in one.value} == {int}
        assert tf.train.Int64List.FromString(one.SerializeToString()) == one
    made[3].value.extend([2, True, 3])
    assert list(made[3].value) == [1, 0, 2, 1, 3]


def test_the_trial_of_flags_in_lists_gives_no_warning():
    # With NumPy 1, a program that python -W error starts ended here.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        protobuf_flags.install()


@pytest.mark.parametrize("value", [1.5, "1", b"1", None, [True], np.array([[True]])])
def test_lists_of_integers_refuse_what_is_none(value):
    integers = tf.train.Int64List(value=[4])
    with pytest.raises(TypeError):
        tf.train.Int64List(value=[True, value])
    with pytest.raises(TypeError):
        integers.value.append(value)
    with pytest.raises(TypeError):
        integers.value.extend([True, value])
    assert list(integers.value) == [4]


def test_lists_of_texts_refuse_flags_by_their_name():
    texts = tf.train.BytesList()
    for store in (texts.value.append, lambda value: texts.value.extend([b"a", value])):
        with pytest.raises(TypeError, match="bool"):
            store(True)
    assert not texts.value


class OldAssertions(unittest.TestCase):
    def test_removed_unittest_assertions_work(self):
        self.assertEquals(1, 1)
        self.assertRegexpMatches("abc", "b")
        with self.assertRaisesRegexp(ValueError, "bad"):
            raise ValueError("bad")


def defaults():
    rate, units = 0.1, [8, 4]
    return locals()


def changed():
    locals().update(defaults())
    rate, steps = 0.2, 3
    return locals()


def test_a_function_has_one_dictionary_of_its_variables():
    assert changed() == {"rate": 0.2, "units": [8, 4], "steps": 3}
    one = 1
    kept = locals()
    assert kept is vars() and kept["kept"] is kept
    del one
    assert "one" not in locals()
    kept["two"] = 2
    assert locals()["two"] == vars()["two"] == 2

    class Inner:
        locals()["three"] = 3

    assert Inner.three == vars(Inner)["three"] == 3
    assert Inner is (lambda value: locals())(Inner)["value"]


def old_module(file, imports):
    """Returns a module in the form of protoc 3.6, which created each descriptor by a call."""
    return f"""
import sys
_b=sys.version_info[0]<3 and (lambda x:x) or (lambda x:x.encode('latin1'))
from google.protobuf import descriptor as _descriptor
{imports}
DESCRIPTOR = _descriptor.FileDescriptor(
  name={file.name!r}, package={file.package!r}, syntax='proto2',
  serialized_pb=_b({file.SerializeToString().decode("latin1")!r}))
_FIELD = _descriptor.FieldDescriptor(
  name='name', full_name='x.name', index=0, number=1, type=9, cpp_type=9, label=1,
  has_default_value=False, default_value=_b("").decode('utf-8'), message_type=None,
  enum_type=None, containing_type=None, is_extension=False, extension_scope=None)
"""


def test_modules_of_an_old_protoc_are_imported(tmp_path, monkeypatch):
    kinds = descriptor_pb2.FieldDescriptorProto
    inner = descriptor_pb2.FileDescriptorProto(name="old_inner.proto", package="old")
    inner.message_type.add(name="Inner").field.add(
        name="name", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL
    )
    inner.enum_type.add(name="Kind").value.add(name="FIRST", number=0)
    outer = descriptor_pb2.FileDescriptorProto(name="old_outer.proto", package="old")
    outer.dependency.append("old_inner.proto")
    message = outer.message_type.add(name="Outer")
    message.field.add(
        name="parts", number=2, type=kinds.TYPE_MESSAGE, label=kinds.LABEL_REPEATED
    ).type_name = ".old.Inner"
    (tmp_path / "old_inner_pb2.py").write_text(old_module(inner, ""))
    imports = "import old_inner_pb2 as old__inner__pb2"
    (tmp_path / "old_outer_pb2.py").write_text(old_module(outer, imports))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = importlib.import_module("old_outer_pb2")
    other = importlib.import_module("old_inner_pb2")
    written = found.Outer(parts=[other.Inner(name="a")]).SerializeToString()
    assert found.Outer.FromString(written).parts[0].name == "a"
    assert other.FIRST == 0 and other.Kind.Name(0) == "FIRST"
    assert found.DESCRIPTOR.name == "old_outer.proto" and found._OUTER.name == "Outer"
    assert text_format.Parse('parts { name: "b" }', found.Outer()).parts[0].name == "b"


def test_messages_become_json_with_defaults_and_rounded_numbers():
    feature = tf.train.Feature(int64_list=tf.train.Int64List())
    text = json_format.MessageToJson(feature, including_default_value_fields=True)
    assert json.loads(text) == {"int64List": {"value": []}}
    value = tf.Summary.Value(tag="é", simple_value=1.23456)
    assert json_format.MessageToDict(value, float_precision=3)["simpleValue"] == 1.23
    numbers = tf.train.FloatList(value=[1.23456, 1e10])
    assert json_format.MessageToDict(numbers, float_precision=3) == {"value": [1.23, 1e10]}
    assert text_format.MessageToString(value).startswith('tag: "\\303\\251"')
