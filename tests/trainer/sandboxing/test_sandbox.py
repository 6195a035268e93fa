"""The sandbox queries every signature; each failure is one line, whatever the process does."""

import json
import shutil
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from estimator_bridge.command_line.signals import SignalReceived
from trainer.errors import UserError
from trainer.export.fingerprint import fingerprint_export
from trainer.sandboxing import command, probe, process, rows, servers

pytestmark = pytest.mark.newest


@pytest.fixture
def export(trained, tmp_path):
    return Path(shutil.copytree(trained("linear", "bought").export, tmp_path / "export"))


def test_every_signature_is_queried_and_warm_up_requests_are_written(export, capsys):
    from estimator_bridge import tf

    before = fingerprint_export(str(export))
    assert command.main([f"--export={export}"]) == 0
    report = json.loads((export / "assets.extra/sandbox.json").read_text())
    out = capsys.readouterr().out
    assert out.startswith(f"passed: {export}\n") and report["failures"] == []
    measured = {(one["signature"], one["batch"]) for one in report["latencies"]}
    names = {name for name, _ in measured}
    assert {"predict", "json:predict", "csv:predict", "csv:regression", "classification"} <= names
    assert measured == {(name, batch) for name in names for batch in (1, 64, 1024)}
    assert report["peak_mib"] > 100 and all(one["p99_ms"] > 0 for one in report["latencies"])
    pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    from tensorflow_serving.apis import prediction_log_pb2

    path = export / "assets.extra/tf_serving_warmup_requests"
    records = tf.compat.v1.io.tf_record_iterator(str(path))
    logs = [prediction_log_pb2.PredictionLog.FromString(record) for record in records]
    requests = [log.predict_log.request for log in logs]
    assert {one.model_spec.signature_name for one in requests} == names
    assert {len(tf.make_ndarray(next(iter(one.inputs.values())))) for one in requests} == {1, 64}
    # Neither file changes what the export computes, nor the verdict of the gate on it.
    assert fingerprint_export(str(export)) == before


def test_limits_of_time_and_memory_are_failures_of_one_line(export, capsys):
    stale = export / "assets.extra/tf_serving_warmup_requests"
    stale.write_bytes(b"of another export")
    for flag, expected in (
        ("--memory_mib=20", "MiB of memory"),
        ("--timeout_secs=0.02", "--timeout_secs=0.02"),
    ):
        assert command.main([f"--export={export}", flag]) == 3
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2 and lines[1].startswith("failed: starting: killed")
        assert expected in lines[1]
    assert not stale.exists()


def test_an_unfinished_file_of_requests_is_not_left_in_the_export(export, monkeypatch):
    pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    before = sorted(export.rglob("*"))

    def run_probe(request, limits):
        Path(request["warm_up"]).write_bytes(b"half")
        raise SignalReceived(signal.SIGTERM)

    monkeypatch.setattr(command, "run_probe", run_probe)
    assert command.main([f"--export={export}"]) == 143
    assert sorted(export.rglob("*")) == before


def test_a_damaged_export_fails_in_one_line(export, capsys):
    for path in (export / "variables").iterdir():
        path.write_bytes(path.read_bytes()[:50])
    assert command.main([f"--export={export}"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and "cannot be loaded" in lines[1]
    (export / "saved_model.pb").unlink()
    assert command.main([f"--export={export}"]) == 2


def test_a_process_that_dies_says_at_what():
    lines = '{"trying": "loading"}\n{"load_secs": 1}\n{"trying": "predict, 64 rows"}\n{"sig'
    trial = process._parse(lines, "out of memory\n", -11, [])
    assert trial.failures == ["predict, 64 rows: ended with signal 11: out of memory"]


def test_rows_have_missing_values_and_unknown_words(export):
    from trainer.prediction.description import find_description

    made = rows.Rows(find_description(str(export)), ",")
    ordinary, unknown = made.make(rows.ORDINARY), made.make(rows.UNKNOWN)
    missing = made.make(rows.MISSING)
    assert ordinary["city"] == "Ulm" and unknown["city"] == rows.UNKNOWN_WORD
    assert unknown["id"] == ordinary["id"]
    assert missing["age"] != missing["age"] and missing["city"] == ""


def test_a_server_and_another_environment_must_give_the_same_answers(export, serve, capsys):
    served = serve(export)
    flags = [f"--server={served.url}", f"--server=grpc://{served.address}/default/versions/1"]
    assert command.main([f"--export={export}", *flags, f"--with={sys.executable}"]) == 0
    out = capsys.readouterr().out
    assert f"{sys.executable}: loaded by" in out and f"{sys.executable}: signature predict" in out
    assert "its operations exist in TensorFlow " in out
    for wrong in ("--with=true", "--with=no-such-python", "--server=127.0.0.1"):
        assert command.main([f"--export={export}", wrong]) == 2
        assert wrong in capsys.readouterr().err


class _OtherService(BaseHTTPRequestHandler):
    """Answers every request with JSON that is not that of a model server."""

    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'["welcome"]')

    def log_message(self, *_):
        pass


def test_each_difference_of_a_server_has_its_reason(export, serve, tmp_path, capsys):
    from trainer.export.serving_session import ServingSession
    from trainer.prediction.description import find_description

    served = serve(export)
    made = rows.Rows(find_description(str(export)), ",")
    other = shutil.copytree(export, tmp_path / "other")
    _change_variables(other)
    changed = "output '.*' is .* with the export; check the version of the server"
    with ServingSession(str(export)) as same, ServingSession(str(other)) as different:
        for name, signature in same.signatures.items():
            for kind in (rows.ORDINARY, rows.MISSING, rows.UNKNOWN):
                inputs = made.feed(name, signature, made.make(kind), 2)
                for address in (served.url, f"grpc://{served.address}/default"):
                    server = servers.open_server(address)
                    servers.compare(server, same, name, inputs)
                    with pytest.raises(UserError, match=changed):
                        servers.compare(server, different, name, inputs)
        unknown = servers.open_server(f"grpc://{served.address}/default/versions/9")
        with pytest.raises(UserError, match="NOT_FOUND: no loaded version 9 of default"):
            unknown.ask(name, inputs)
        with pytest.raises(UserError, match="status 404: no label 'x'"):
            servers.open_server(f"{served.url}/labels/x").ask(name, inputs)
        with pytest.raises(UserError, match="no response"):
            servers.open_server("http://127.0.0.1:9/v1/models/x").ask(name, inputs)
        with HTTPServer(("127.0.0.1", 0), _OtherService) as other_service:
            thread = threading.Thread(target=other_service.serve_forever)
            thread.start()
            capsys.readouterr()
            address = f"http://me:secret@127.0.0.1:{other_service.server_port}/v1/models/x"
            probe._try_server(same, address, made)
            other_service.shutdown()
            thread.join()
    out = capsys.readouterr().out
    assert "not that of a model server" in out and "secret" not in out


def _change_variables(export):
    from estimator_bridge import tf

    prefix = str(export / "variables/variables")
    reader = tf.train.load_checkpoint(prefix)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        values = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
        variables = [
            tf.compat.v1.Variable(value + 1 if value.dtype.kind == "f" else value, name=name)
            for name, value in values.items()
        ]
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(variables).save(session, prefix, write_meta_graph=False)
