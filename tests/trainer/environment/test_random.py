"""Environment variables that no service would set: one line of error, or a usable cluster.

`make test ARGS='tests/trainer/environment/test_random.py'` with FUZZ_EXAMPLES=100000 in the
environment runs many more examples.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer.environment.cluster_spec import ROLES, Cluster, parse_cluster
from trainer.environment.services import AIP_NAMES, METRIC_FILE, parse_service
from trainer.environment.variables import PARENT_PIPE, find_cache_home, take_parent_pipe
from trainer.errors import UserError

pytestmark = pytest.mark.quick

SETTINGS = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "300")),
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(blacklist_categories=()), max_size=8),
    st.sampled_from(
        ["²", "0", "1" * 4000, "h h:1", "h:²", "\ud800", "a:1", "[::1]:5", "../..", ""]
    ),
    st.recursive(st.none(), lambda inner: st.lists(inner, max_size=2), max_leaves=4),
    st.dictionaries(st.sampled_from(["0", "1", "²", "x"]), st.just("h:1"), max_size=3),
)
ADDRESS = st.builds("{}:{}".format, st.sampled_from("abcd"), st.integers(1, 9)) | ODD
ADDRESSES = st.lists(ADDRESS, max_size=3) | ODD
INDEX = st.integers(0, 2) | ODD


def describe(roles):
    """Objects that resemble the description of a cluster."""
    task = st.fixed_dictionaries(
        {"type": st.sampled_from(roles) | ODD},
        optional={"index": INDEX, "trial": st.integers(0, 9) | ODD},
    )
    cluster = st.dictionaries(st.sampled_from([*roles, "\n"]), ADDRESSES, max_size=4) | ODD
    return st.fixed_dictionaries({}, optional={"cluster": cluster, "task": task | ODD, "run": ODD})


@st.composite
def texts(draw, roles):
    """JSON of such objects, sometimes with a place changed."""
    text = json.dumps(draw(describe(roles)))
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(text)))
        odd = draw(
            st.sampled_from(["", "{", "[" * 3000, "Infinity", "9" * 5000, "\udcff", '"', ","])
        )
        text = text[:place] + odd + text[place + draw(st.integers(0, 3)) :]
    return text


ENVIRONMENTS = st.fixed_dictionaries(
    {},
    optional={
        "TF_CONFIG": texts((*ROLES, "master")),
        "CLUSTER_SPEC": texts(("workerpool0", "workerpool1", "workerpool2", "workerpool3")),
        "CLOUD_ML_TRIAL_ID": st.text(max_size=5),
        **{name: st.text(max_size=9) for name in (*AIP_NAMES, METRIC_FILE)},
    },
)


def is_line(error):
    text = str(error)
    return text.isprintable() and len(text) < 400


@pytest.mark.long
@SETTINGS
@given(environ=ENVIRONMENTS)
def test_a_cluster_or_one_line(environ):
    try:
        cluster = parse_cluster(environ)
    except UserError as error:
        assert is_line(error)
        return
    assert isinstance(cluster, Cluster)
    json.loads(cluster.to_tf_config())
    for address in (each for role in cluster.spec.values() for each in role):
        host, _, port = address.rpartition(":")
        assert host.isascii() and host.isprintable() and " " not in host and 0 < int(port) < 65536
    assert cluster.trial is None or not set("/.") & set(cluster.trial)
    assert cluster.run_id is None or cluster.run_id.isprintable()
    if cluster.is_distributed:
        assert cluster.name in cluster.names


@pytest.mark.long
@SETTINGS
@given(environ=ENVIRONMENTS)
def test_folders_or_one_line(environ):
    try:
        service = parse_service(environ)
    except UserError as error:
        assert is_line(error)
        return
    for path in (service.model_dir, service.checkpoint_dir, *service.train_data):
        assert path is None or path and path.isprintable()


@SETTINGS
@given(text=st.text(st.characters(min_codepoint=1, blacklist_categories=["Cs"]), max_size=300))
def test_other_variables(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", text)
        assert isinstance(find_cache_home(), Path)
        if not text.isdecimal():
            patch.setenv(PARENT_PIPE, text)
            assert take_parent_pipe() is None


@pytest.mark.parametrize(
    "change, said",
    [
        ({"chief": ["h:²"]}, "not host:port"),
        ({"chief": ["h:" + "1" * 5000]}, "between 1 and 65535"),
        ({"chief": ["h h:1"]}, "not host:port"),
        ({"chief": ["\ud800:1"]}, "not host:port"),
        ({"chief": {"a": "h:1"}}, "not numbered 0, 1, 2"),
        ({"chief": {"1": "h:1"}}, "not numbered 0, 1, 2"),
        ({"chief": ["h:1"], "index": 0.7}, "a number from 0"),
        ({"chief": ["h:1"], "index": True}, "a number from 0"),
        ({"chief": ["h:1"], "index": float("inf")}, "Infinity is no value of JSON"),
        ({"chief": ["h:1"], "run": {}}, "printable characters"),
        ({"chief": ["h:1"], "trial": "../other"}, "letters, digits, _ and -"),
    ],
)
def test_each_is_refused_in_one_line(change, said):
    change = dict(change)
    task = {"type": "chief", "index": change.pop("index", 0)}
    more = {"run": change.pop("run")} if "run" in change else {}
    trial = change.pop("trial", "")
    config = json.dumps({"cluster": change, "task": task, **more})
    with pytest.raises(UserError) as refused:
        parse_cluster({"TF_CONFIG": config, "CLOUD_ML_TRIAL_ID": trial})
    assert said in str(refused.value) and is_line(refused.value)


def test_deeply_nested_brackets():
    for text in ("[" * 100_000, '{"cluster": ' * 100_000):
        with pytest.raises(UserError, match="nested too deeply|not JSON"):
            parse_cluster({"TF_CONFIG": text})


def test_the_pipe_of_a_parent(monkeypatch):
    reading, writing = os.pipe()
    try:
        monkeypatch.setenv(PARENT_PIPE, str(reading))
        assert take_parent_pipe() == reading
    finally:
        os.close(reading)
        os.close(writing)
