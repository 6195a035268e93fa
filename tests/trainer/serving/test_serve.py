"""The server answers the real stubs and plain HTTP as TensorFlow Serving does."""

import gzip
import itertools
import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import requests

from trainer.release.pushing import Deployment, Request
from trainer.release.state import Entry
from trainer.serving import command
from trainer.serving.failures import RequestError

ROW = {"id": "r1", "age": 61.5, "hours": 40, "city": "Ulm", "job": "baker", "level": 2}


@pytest.fixture
def export(trained):
    return trained("linear", "bought").export


def connect(address):
    """The real stubs of both services."""
    import grpc
    from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

    channel = grpc.insecure_channel(address)
    return (
        prediction_service_pb2_grpc.PredictionServiceStub(channel),
        model_service_pb2_grpc.ModelServiceStub(channel),
    )


def post(url, **body):
    answered = requests.post(url, json=body, timeout=60)
    return answered.status_code, answered.json()


def make_predict(examples, **spec):
    from tensorflow_serving.apis import predict_pb2

    from estimator_bridge import tf

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "default", "predict"
    for name, value in spec.items():
        setattr(request.model_spec, name, value)
    request.inputs["examples"].CopyFrom(tf.make_tensor_proto(examples))
    return request


def test_rest_and_grpc_give_the_answers_of_the_export(serve, export, make):
    from tensorflow_serving.apis import (
        classification_pb2,
        get_model_metadata_pb2,
        get_model_status_pb2,
        inference_pb2,
        regression_pb2,
    )

    from estimator_bridge import tf
    from trainer.export.serving_session import ServingSession

    served = serve(export)
    example = make.example(ROW)
    with ServingSession(str(export)) as session:
        expected = session.run("predict", {"examples": np.array([example], object)})
    score = float(expected["logistic"][0, 0])
    predictions, models = connect(served.address)
    answer = predictions.Predict(make_predict([example, example]))
    assert set(answer.outputs) == set(expected)
    for name, values in expected.items():
        assert np.array_equal(tf.make_ndarray(answer.outputs[name])[:1], values)
    version = int(Path(export).name)
    assert answer.model_spec.version.value == version
    filtered = make_predict([example])
    filtered.output_filter.append("logistic")
    assert list(predictions.Predict(filtered).outputs) == ["logistic"]

    # Rows as objects, the only input without a name, and columns.
    import base64

    coded = {"b64": base64.b64encode(example).decode()}
    for body in (
        {"signature_name": "json:predict", "instances": [ROW, ROW]},
        {"signature_name": "predict", "instances": [coded, coded]},
        {"signature_name": "predict", "instances": [{"examples": coded}] * 2},
    ):
        status, found = post(f"{served.url}:predict", **body)
        assert status == 200 and len(found["predictions"]) == 2
        assert found["predictions"][1]["logistic"] == [pytest.approx(score, abs=1e-6)]
        assert found["predictions"][0]["all_classes"] == ["no", "yes"]
    columns = {name: [value] for name, value in ROW.items()}
    status, found = post(f"{served.url}:predict", signature_name="json:predict", inputs=columns)
    assert status == 200 and found["outputs"]["classes"] == [["yes" if score > 0.5 else "no"]]

    # Classify and regress, with the context that is part of each row.
    context = {name: ROW[name] for name in ("city", "job", "level", "id")}
    body = {"examples": [{"age": 61.5, "hours": 40}], "context": context}
    status, found = post(f"{served.url}:classify", **body)
    assert status == 200 and dict(found["result"][0])["yes"] == pytest.approx(score, abs=1e-6)
    status, found = post(f"{served.url}:regress", signature_name="regression", **body)
    assert status == 200 and found["result"] == [pytest.approx(score, abs=1e-6)]
    spec = {"name": "default", "signature_name": "serving_default"}
    classify = classification_pb2.ClassificationRequest(model_spec=spec)
    classify.input.example_list.examples.add().ParseFromString(example)
    (row,) = predictions.Classify(classify).result.classifications
    assert row.classes[1].score == pytest.approx(score) and row.classes[1].label == "yes"
    regress = regression_pb2.RegressionRequest(
        model_spec={"name": "default", "signature_name": "regression"}, input=classify.input
    )
    assert predictions.Regress(regress).result.regressions[0].value == pytest.approx(score)
    several = inference_pb2.MultiInferenceRequest(input=classify.input)
    several.tasks.add(model_spec=classify.model_spec, method_name="tensorflow/serving/classify")
    several.tasks.add(model_spec=regress.model_spec, method_name="tensorflow/serving/regress")
    one, two = predictions.MultiInference(several).results
    assert one.classification_result.classifications[0] == row
    assert two.regression_result.regressions[0].value == pytest.approx(score)

    # What is served.
    state = requests.get(served.url, timeout=60).json()["model_version_status"]
    status = {"error_code": "OK", "error_message": ""}
    assert state == [{"version": str(version), "state": "AVAILABLE", "status": status}]
    asked = get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "default"})
    assert models.GetModelStatus(asked).model_version_status[0].version == version
    metadata = requests.get(f"{served.url}/versions/{version}/metadata", timeout=60).json()
    signatures = metadata["metadata"]["signature_def"]["signature_def"]
    assert signatures["predict"]["inputs"]["examples"]["dtype"] == "DT_STRING"
    fields = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec={"name": "default"}, metadata_field=["signature_def"]
    )
    packed = predictions.GetModelMetadata(fields).metadata["signature_def"]
    found = get_model_metadata_pb2.SignatureDefMap()
    assert packed.Unpack(found) and set(found.signature_def) == set(signatures)


@pytest.mark.newest
def test_wrong_requests_are_answered_with_their_reason(serve, export, make):
    import grpc

    served = serve(export)
    predict = f"{served.url}:predict"
    for url, body, status, reason in (
        (f"{served.url}x:predict", {"instances": [1]}, 404, "no model"),
        (f"{served.url}/versions/9:predict", {"instances": [1]}, 404, "no loaded version 9"),
        (f"{served.url}/labels/canary:predict", {"instances": [1]}, 404, "no label 'canary'"),
        (f"{served.url}:explain", {"instances": [1]}, 400, "no method 'explain'"),
        (predict, {"instances": []}, 400, "not empty"),
        (predict, {}, 400, "'instances' or 'inputs'"),
        (predict, {"signature_name": "nope", "instances": [1]}, 400, "there are"),
        (predict, {"signature_name": 3, "instances": [1]}, 400, "must be a text"),
        (predict, {"signature_name": "json:predict", "instances": [{"age": 1}]}, 400, "missing"),
        (
            predict,
            {"signature_name": "json:predict", "instances": [{**ROW, "age": "x"}]},
            400,
            '"x" is not of type float32',
        ),
        (
            predict,
            {"signature_name": "json:predict", "instances": [{**ROW, "age": None}]},
            400,
            "null is not of type float32; a missing number is NaN",
        ),
        (
            predict,
            {"signature_name": "json:predict", "instances": [{**ROW, "hours": 2**70}]},
            400,
            "int",
        ),
        (predict, {"signature_name": "predict", "instances": ["\ud800"]}, 400, "surrogates"),
        (predict, {"signature_name": "predict", "instances": [{"b64": "!"}]}, 400, "b64"),
        (predict, {"signature_name": "predict", "instances": ["not an example"]}, 400, ""),
        (predict, {"signature_name": "predict", "instances": [["a"], ["a", "b"]]}, 400, "lengths"),
        (f"{served.url}:classify", {"examples": [{"age": 2**70}]}, 400, ""),
        (f"{served.url}:classify", {"examples": [{"age": None}]}, 400, "feature 'age'"),
        (f"{served.url}:regress", {"examples": [{}]}, 400, "method"),
    ):
        code, answer = post(url, **body)
        assert code == status and reason in answer["error"], (body, answer)
        assert "\n" not in answer["error"]
    for data in (b"{", b"[" * 100_000, b"[]"):
        assert requests.post(predict, data=data, timeout=60).status_code == 400
    assert requests.get(f"{served.url}/nothing", timeout=60).status_code == 404
    predictions, _ = connect(served.address)
    untyped = make_predict([b""])
    untyped.inputs["examples"].dtype = 999
    for request, code in (
        (untyped, grpc.StatusCode.INVALID_ARGUMENT),
        (make_predict([make.example(ROW)], name="other"), grpc.StatusCode.NOT_FOUND),
        (make_predict([1.5]), grpc.StatusCode.INVALID_ARGUMENT),
        (make_predict([make.example(ROW)], version_label="x"), grpc.StatusCode.NOT_FOUND),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            predictions.Predict(request)
        assert caught.value.code() == code
    # A server that was asked nonsense still answers.
    assert predictions.Predict(make_predict([make.example(ROW)])).outputs


@pytest.mark.newest
def test_a_pushed_folder_is_followed_without_a_failed_request(serve, export, tmp_path, until_ended):
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    from estimator_bridge import tf

    folder = tmp_path / "shop"
    place, contents = Deployment(str(folder)), map(str, itertools.count())

    def push(source, **options):
        entry = Entry(export=str(source), fingerprint=next(contents), verdict="blessed")
        return place.push(Request(Path(source), entry, **options))

    push(export)
    served = serve(folder)
    assert served.url.endswith("/shop")
    asked = {"signature_name": "json:predict", "instances": [ROW]}
    request = predict_pb2.PredictRequest()
    for name, value in ROW.items():
        dtype = {"age": tf.float32, "hours": tf.int64, "level": tf.int64}.get(name)
        request.inputs[name].CopyFrom(tf.make_tensor_proto([value], dtype))
    session = requests.Session()
    predictions, _ = connect(served.address)

    def ask():
        answered = session.post(f"{served.url}/labels/stable:predict", json=asked, timeout=60)
        answered.raise_for_status()
        spec = {"name": "shop", "version_label": "stable", "signature_name": "json:predict"}
        request.model_spec.CopyFrom(type(request.model_spec)(**spec))
        return predictions.Predict(request).model_spec.version.value

    assert ask() == 1
    with until_ended(ask) as client:
        assert push(export, label="canary") == 2
        served.model.refresh()
        assert set(client.results) <= {1}
        place.promote()
        served.model.refresh()
        assert ask() == 2
        # The version that was stable before stays loaded: a rollback loads nothing.
        assert requests.get(f"{served.url}/versions/1", timeout=60).status_code == 200
        place.roll_back()
        served.model.refresh()
        assert ask() == 1
        for _ in range(3):
            push(export, keep=2)
            served.model.refresh()
    assert client.errors == [] and set(client.results) <= {1, 2, 3, 4, 5}
    states = requests.get(served.url, timeout=60).json()["model_version_status"]
    found = {int(one["version"]): one["state"] for one in states}
    assert {one for one, state in found.items() if state == "AVAILABLE"} == {4, 5}
    assert found[1] == "END"

    # Whatever happens to the folder, what is served stays.
    damaged = shutil.copytree(export, tmp_path / "damaged")
    for path in (damaged / "variables").iterdir():
        path.write_bytes(b"damaged")
    push(damaged)
    for _ in range(7):
        served.model.refresh()
    assert ask() == 5
    assert sum("version 6: not loaded" in line for line in served.lines) == 5
    unwarmed = shutil.copytree(export, tmp_path / "unwarmed")
    (unwarmed / "assets.extra").mkdir(exist_ok=True)
    requests_file = unwarmed / "assets.extra" / "tf_serving_warmup_requests"
    wrong = make_predict([b""])
    wrong.inputs["other"].CopyFrom(tf.make_tensor_proto([1]))
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(wrong)
    for version, record in ((7, b"\xff\xff\xff\xff"), (8, log.SerializeToString())):
        with tf.io.TFRecordWriter(str(requests_file)) as writer:
            writer.write(record)
        push(unwarmed)
        served.model.refresh()
        assert ask() == 5 and f"version {version}: not loaded" in served.lines[-1]
    unspecific = 'model_config_list { config { name: "shop" base_path: "/models/shop" } }'
    for text in ("not a configuration", "", unspecific):
        (folder / "models.config").write_text(text)
        served.model.refresh()
        assert ask() == 5 and "still serving" in served.lines[-1]
    shutil.rmtree(folder)
    served.model.refresh()
    assert ask() == 5 and "still serving" in served.lines[-1]


@pytest.mark.newest
def test_a_sample_of_the_requests_is_logged_for_the_watch(serve, export, make, tmp_path):
    from tensorflow_serving.apis import prediction_log_pb2

    from estimator_bridge import tf

    served = serve(export, rate=1.0)
    post(f"{served.url}:predict", signature_name="json:predict", instances=[ROW])
    post(f"{served.url}:classify", examples=[ROW])
    post(f"{served.url}:regress", signature_name="regression", examples=[ROW])
    connect(served.address)[0].Predict(make_predict([make.example(ROW)]))
    assert not (tmp_path / "log").exists()
    served.log.write()
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("requests-") and path.suffix == ".tfrecord"
    records = tf.compat.v1.io.tf_record_iterator(str(path))
    logs = [prediction_log_pb2.PredictionLog.FromString(one) for one in records]
    kinds = [one.WhichOneof("log_type") for one in logs]
    assert kinds == ["predict_log", "classify_log", "regress_log", "predict_log"]
    for log in logs:
        spec = log.log_metadata.model_spec
        assert spec == getattr(log, log.WhichOneof("log_type")).request.model_spec
        assert spec.name == "default" and spec.version.value == int(Path(export).name)
        assert log.log_metadata.timestamp_secs > 0
        assert log.log_metadata.sampling_config.sampling_rate == 1.0
    assert logs[0].predict_log.response.outputs["logistic"].dtype == tf.float32
    served.log.write()
    assert len(list((tmp_path / "log").iterdir())) == 1


@pytest.mark.newest
def test_the_command_names_the_real_server_and_ends_at_sigterm(export, tmp_path):
    pytest.importorskip("tensorflow_serving")
    flags = ["--port=0", "--rest_api_port=0", f"--log={tmp_path / 'log'}"]
    with subprocess.Popen(
        [sys.executable, "-m", "trainer.serve", str(export), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            first, second = process.stdout.readline(), process.stdout.readline()
            assert first.startswith("for trying and rehearsing only; in production: ")
            assert "tensorflow_model_server --model_name=default --model_base_path=" in first
            url = second.split()[1]
            status, _ = post(f"{url}:predict", signature_name="json:predict", instances=[ROW])
            assert status == 200
            port = url.split(":")[2].partition("/")[0]
            assert command.main([str(export), "--port=0", f"--rest_api_port={port}"]) == 2
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            # TensorFlow's own messages are hidden.
            assert "oneDNN" not in process.stderr.read()
        finally:
            process.kill()
    # What was collected is written at the end.
    assert len(list((tmp_path / "log").iterdir())) == 1


@pytest.mark.quick
def test_what_cannot_be_served_is_named(tmp_path, capsys):
    pytest.importorskip("tensorflow_serving")
    (tmp_path / "empty").mkdir()
    for argv in ([], [str(tmp_path / "none")], [str(tmp_path / "empty")], ["x", "--log=gs://a/b"]):
        assert command.main(argv) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_version_in_use_is_closed_after_its_last_request(serve, export, tmp_path):
    from tensorflow_serving.apis import model_pb2

    for number in (1, 2):
        shutil.copytree(export, tmp_path / "models" / str(number))
    shutil.move(tmp_path / "models" / "2", tmp_path / "2")
    model = serve(tmp_path / "models").model
    spec = model_pb2.ModelSpec(name="models")
    with model.use(spec) as first:
        shutil.move(tmp_path / "2", tmp_path / "models" / "2")
        model.refresh()
        with model.use(spec) as second:
            assert second.version == 2
        assert first.session.run("json:predict", {k: np.array([v]) for k, v in ROW.items()})
    with pytest.raises(RuntimeError, match="closed"):
        first.session.run("json:predict", {k: np.array([v]) for k, v in ROW.items()})
    spec.version.value = 1
    with pytest.raises(RequestError, match="no loaded version 1"), model.use(spec):
        pass
    assert json.dumps(model.list_states(model_pb2.ModelSpec(name="models"))).count("AVAILABLE") == 1


def test_a_log_that_cannot_be_a_folder_is_told_before_anything_is_loaded(export, tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert command.main([str(export), f"--log={file}"]) == 2
    assert capsys.readouterr().err.startswith(f"error: --log={file}: File exists; name")


def test_a_body_that_cannot_be_read_is_refused_as_json(serve, export, caplog):
    served = serve(export)
    headers = {"Content-Encoding": "gzip"}
    found = requests.post(f"{served.url}:predict", data=b"hello", headers=headers, timeout=60)
    assert found.status_code == 400 and "cannot be read" in found.json()["error"]
    content = gzip.compress(json.dumps({"inputs": {n: [v] for n, v in ROW.items()}}).encode())
    found = requests.post(f"{served.url}:predict", data=content, headers=headers, timeout=60)
    assert found.status_code == 400 and "inputs" in found.json()["error"]
    # A client that leaves before its request is complete.
    port = int(served.url.split(":")[2].split("/")[0])
    path = served.url.partition("/v1")[2]
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"POST /v1{path}:predict HTTP/1.1\r\nHost: x\r\n".encode())
        client.sendall(b"Content-Length: 100\r\n\r\n{")
    assert requests.get(served.url, timeout=60).status_code == 200
    assert not caplog.records


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e39", "1" + "0" * 50])
def test_a_number_that_is_not_finite_as_a_float_is_refused(serve, export, number):
    served = serve(export)
    text = json.dumps({"signature_name": "json:predict", "instances": [{**ROW, "age": 7.5}]})
    examples = json.dumps({"examples": [{**ROW, "age": [7.5, 1]}]})
    for method, body in (("predict", text), ("classify", examples)):
        body = body.replace("7.5", number)
        found = requests.post(f"{served.url}:{method}", data=body, timeout=60)
        assert found.status_code == 400, found.text
        assert "too large" in found.json()["error"] or "out of range" in found.json()["error"]
    # As TensorFlow Serving, which takes the number that JSON does not have.
    body = text.replace("7.5", "Infinity")
    assert requests.post(f"{served.url}:predict", data=body, timeout=60).status_code == 200
