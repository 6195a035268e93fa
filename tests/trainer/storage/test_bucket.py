import io
import os
import sys
import time

import pytest

from trainer.errors import UserError
from trainer.storage.bucket import CHUNK_BYTES, Bucket, Changed, Conflict
from trainer.storage.requests import Unavailable
from trainer.storage.transient import is_transient

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.fixture
def bucket(cloud):
    return Bucket("a-bucket", timeout_secs=5, patience_secs=20, sleep=lambda secs: None)


def _upload(bucket, content, name, generation=0):
    return bucket.upload(io.BytesIO(content), len(content), name, generation)


def test_objects_are_stored_listed_fetched_and_removed(bucket, cloud, tmp_path):
    stored = _upload(bucket, b"one", "d/a.csv")
    _upload(bucket, b"", "d/empty")
    cloud.write("d/folder/", b"x")
    assert [found.name for found in bucket.list_all("d/")] == ["d/a.csv", "d/empty"]
    assert bucket.find("d/a.csv") == stored and bucket.find("d/a") is None
    bucket.download(stored, tmp_path / "deep" / "a.csv")
    assert (tmp_path / "deep" / "a.csv").read_bytes() == b"one"
    bucket.download(bucket.find("d/empty"), tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == b""
    again = _upload(bucket, b"two", "d/a.csv", stored.generation)
    assert cloud.read("d/a.csv") == b"two" and again.generation > stored.generation
    bucket.remove(again)
    bucket.remove(again)
    assert cloud.names("d/a") == []


def test_a_second_writer_is_stopped(bucket, cloud):
    first = _upload(bucket, b"mine", "checkpoint")
    cloud.write("checkpoint", b"theirs")
    with pytest.raises(Conflict, match="gs://a-bucket/checkpoint: another writer has changed it"):
        _upload(bucket, b"mine again", "checkpoint", first.generation)
    with pytest.raises(Conflict):
        bucket.remove(first)
    with pytest.raises(Conflict):
        _upload(bucket, b"as if new", "checkpoint", 0)
    big = bytes(CHUNK_BYTES + 1)
    with pytest.raises(Conflict):
        _upload(bucket, big, "checkpoint", first.generation)
    assert cloud.read("checkpoint") == b"theirs"


@pytest.mark.parametrize("how", ["status", "reset", "lost"])
def test_a_small_upload_survives_faults(bucket, cloud, how):
    fault = cloud.fail(how, method="POST", times=3)
    stored = _upload(bucket, b"content" * 1000, "x")
    assert fault.met == 3
    assert cloud.read("x") == b"content" * 1000 and bucket.find("x") == stored


@pytest.mark.parametrize("how, skip", [("status", 0), ("reset", 1), ("reset", 2), ("lost", 2)])
def test_a_large_upload_resumes_in_the_middle(bucket, cloud, how, skip):
    content = os.urandom(2 * CHUNK_BYTES + 12345)
    cloud.fail(how, method="PUT", times=1, skip=skip)
    stored = _upload(bucket, content, "big")
    assert cloud.read("big") == content and bucket.find("big") == stored
    # Only the pieces that failed are sent again: the upload was begun once.
    begun = [path for method, path in cloud.requests if method == "POST"]
    assert len(begun) == 1, cloud.requests


def test_a_request_without_a_response_is_repeated(cloud):
    bucket = Bucket("a-bucket", timeout_secs=0.5, patience_secs=20)
    cloud.fail("hang", method="POST", secs=2.0)
    _upload(bucket, b"late", "x")
    assert cloud.read("x") == b"late"


@pytest.mark.parametrize("how", ["damage", "status", "reset"])
def test_a_download_is_complete_or_fails(bucket, cloud, tmp_path, how):
    stored = _upload(bucket, b"content" * 999, "x")
    cloud.fail(how, method="GET", path="alt=media", times=2)
    bucket.download(stored, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"content" * 999
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_object_that_changes_while_it_is_fetched_is_detected(bucket, cloud, tmp_path):
    stored = _upload(bucket, b"before", "x")
    cloud.write("x", b"after")
    with pytest.raises(Changed):
        bucket.download(stored, tmp_path / "x")
    bucket.remove(bucket.find("x"))
    with pytest.raises(Changed):
        bucket.download(stored, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_an_unavailable_service_is_an_error_of_one_line(cloud):
    bucket = Bucket("a-bucket", timeout_secs=5, patience_secs=2)
    cloud.fail("status", times=1000)
    started = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        bucket.list_all("")
    assert time.monotonic() - started < 10
    assert str(raised.value).startswith("gs://a-bucket: no answer from Cloud Storage for 2 s")
    assert "\n" not in str(raised.value)


def test_a_missing_bucket_is_reported(cloud):
    bucket = Bucket("no-such-bucket", patience_secs=2)
    for ask in (lambda: bucket.list_all("x"), lambda: _upload(bucket, b"x", "x")):
        with pytest.raises(UserError) as raised:
            ask()
        assert "there is no bucket 'no-such-bucket'" in str(raised.value)


def test_a_permission_error_names_the_action_and_the_remedy(bucket, cloud, tmp_path):
    stored = _upload(bucket, b"x", "x")
    cloud.fail("status", status=403, times=100)
    asked = {
        "list": (lambda: bucket.list_all("d/"), "objectViewer"),
        "read": (lambda: bucket.download(stored, tmp_path / "x"), "objectViewer"),
        "write": (lambda: _upload(bucket, b"y", "y"), "objectUser"),
        "delete": (lambda: bucket.remove(stored), "objectUser"),
    }
    for what, (ask, role) in asked.items():
        with pytest.raises(UserError) as raised:
            ask()
        message = str(raised.value)
        assert f"no permission to {what}" in message and f"roles/storage.{role}" in message
        assert message.startswith("gs://a-bucket") and "\n" not in message


def test_missing_credentials_are_reported(monkeypatch, tmp_path):
    from google.auth import exceptions

    def none(*_, **__):
        raise exceptions.DefaultCredentialsError("Your default credentials were not found.")

    monkeypatch.setattr("google.cloud.storage.Client", none)
    with pytest.raises(UserError, match="gs://: no credentials .*gcloud auth application-default"):
        Bucket("a-bucket")


def test_expired_credentials_are_reported(bucket, cloud):
    cloud.fail("status", status=401, times=100)
    with pytest.raises(UserError, match="no credentials"):
        bucket.list_all("d/")


def test_the_reason_of_a_missing_connection_is_named(cloud, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="Connection refused"):
        Bucket("a-bucket", patience_secs=0.1).list_all("d/")


def test_a_wrong_proxy_is_reported(bucket, cloud, monkeypatch):
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://")
    with pytest.raises(UserError, match="check the network and the proxy"):
        bucket.list_all("d/")


def test_an_answer_that_is_not_of_the_service_is_repeated(cloud):
    bucket = Bucket("a-bucket", patience_secs=2)
    # An object, but not with the properties of a stored one.
    cloud.fail("status", status=200)
    found = bucket.upload(io.BytesIO(b"abc"), 3, "x/small", 0)
    cloud.fail("status", status=200)
    bucket.copy(found, "x/copy")
    assert cloud.names("x/") == ["x/copy", "x/small"]
    cloud.fail("status", status=200, times=100)
    with pytest.raises(Unavailable, match="an answer is not one of Cloud Storage"):
        bucket.renew(found)


def test_a_missing_package_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)
    monkeypatch.delattr("google.cloud.storage")
    with pytest.raises(UserError, match="pip install google-cloud-storage"):
        Bucket("a-bucket")


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_temporary_statuses_are_repeated(bucket, cloud, tmp_path, status):
    cloud.fail("status", status=status, times=2)
    found = bucket.upload(io.BytesIO(b"abc"), 3, "x/small", 0)
    cloud.fail("status", status=status, times=2)
    bucket.download(found, tmp_path / "small")
    assert (tmp_path / "small").read_bytes() == b"abc"


@pytest.mark.parametrize("status", [404, 410])
def test_a_lost_upload_session_is_started_again(bucket, cloud, status):
    content = os.urandom(2 * CHUNK_BYTES + 5)
    fault = cloud.fail("status", method="PUT", status=status)
    bucket.upload(io.BytesIO(content), len(content), "x/large", 0)
    assert fault.met >= 1 and cloud.read("x/large") == content


def test_transient_errors():
    from google.auth import exceptions as auth
    from requests.exceptions import JSONDecodeError
    from urllib3.exceptions import ProtocolError

    away = auth.TransportError("no answer")
    page = JSONDecodeError("Expecting value", "<html>", 0)
    for error in (ProtocolError("reset"), TimeoutError(), auth.RefreshError(away), away, page):
        assert is_transient(error), error
    for error in (auth.RefreshError("revoked"), ValueError(), OSError(28, "No space left")):
        assert not is_transient(error), error
