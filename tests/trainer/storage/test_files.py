"""trainer.storage.files, and what several processes do in one folder at once."""

import threading

import pytest

from trainer.errors import UserError
from trainer.storage import disk
from trainer.storage.files import read_json, replaced, write_text

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.mark.parametrize(
    "content",
    [b"", b'{"a": 1', b"[1]", b"3", b"null", b"\xff\xfe\x00", b"\0" * 100, b"[" * 200_000],
    ids=["empty", "cut off", "list", "number", "null", "no text", "zeros", "deep"],
)
def test_a_damaged_json_file_is_an_error_of_one_line(tmp_path, content):
    path = tmp_path / "best.json"
    assert read_json(path) is None
    path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        read_json(path)
    text = str(raised.value)
    assert text.startswith(f"{path}: damaged (") and "\n" not in text and len(text) < 400


@pytest.mark.parametrize(
    "name, remedy",
    [
        ("schema.json", "; a job and its exports (in assets.extra) have the same one"),
        ("push.json", "; do not remove it: the labels and the history of the versions would be"),
        ("study.json", ", or name another --study_dir"),
        ("gate.json", ", or remove it and run trainer.gate again"),
        ("statistics-of-2025.json", ""),
    ],
)
def test_a_file_is_removed_on_our_advice_only_if_it_can_be_written_again(tmp_path, name, remedy):
    (tmp_path / name).write_text("{")
    with pytest.raises(UserError) as raised:
        read_json(tmp_path / name)
    assert f"; restore the file from a copy{remedy}" in str(raised.value)
    assert ("or remove it" in str(raised.value)) == ("remove" in remedy and name != "push.json")


def _at_once(act, threads=4, times=200):
    """Has several threads do something again and again; returns their errors."""
    errors = []

    def repeat(number):
        try:
            for _ in range(times):
                act(number)
        except Exception as error:
            errors.append(error)

    running = [threading.Thread(target=repeat, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return errors


def test_concurrent_writers_leave_a_complete_file(tmp_path):
    """As processes of containers do, whose numbers are the same."""
    path = tmp_path / "words.txt"
    texts = [f"{number}\n" * 1000 for number in range(4)]
    assert _at_once(lambda number: write_text(path, texts[number]), times=50) == []
    assert path.read_text() in texts
    assert [file.name for file in tmp_path.iterdir()] == ["words.txt"]


def test_an_error_leaves_the_file_unchanged(tmp_path):
    path = tmp_path / "words.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replaced(path) as temporary:
        temporary.write_text("new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["words.txt"]


def test_several_processes_start_in_one_job_dir(tmp_path):
    job_dir = tmp_path / "jobs" / "one"
    assert _at_once(lambda _: disk.check_writable(str(job_dir), make=True)) == []
    assert list(job_dir.iterdir()) == []
