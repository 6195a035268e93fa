import pytest
import yaml

from trainer.errors import UserError
from trainer.storage.addresses import (
    Address,
    check_local_names,
    is_remote,
    literal_prefix,
    parse_address,
    replace_path,
    to_regex,
)
from trainer.storage.portable import replace_job_dir

pytestmark = [pytest.mark.newest, pytest.mark.quick]


def test_an_address_is_parsed_and_formatted():
    address = parse_address("gs://a-bucket/jobs/first/", "job_dir")
    assert address == Address("a-bucket", "jobs/first/")
    assert address.folder == "jobs/first/"
    assert str(address.join("checkpoint")) == "gs://a-bucket/jobs/first/checkpoint"
    assert str(parse_address("gs://a-bucket", "job_dir")) == "gs://a-bucket"
    assert parse_address("gs://a-bucket", "job_dir").join("x").name == "x"
    assert is_remote("gs://a/b") and is_remote("gs:/a/b")
    assert not is_remote("gs/a") and not is_remote(None) and not is_remote("/gcs/a")


@pytest.mark.parametrize(
    "text, words",
    [
        ("gs://", "there is no bucket"),
        ("gs:/bucket/x", "not written gs://"),
        ("gs://My_Bucket/x", "'My_Bucket' is no name of a bucket"),
        ("gs://ab/x", "'ab' is no name"),
        ("gs://-bucket/x", "is no name"),
        ("gs://a..b/x", "empty or too long"),
        ("gs://" + "a" * 64 + "/x", "empty or too long"),
        ("gs://192.168.5.4/x", "no bucket may have"),
        ("gs://google-data/x", "no bucket may have"),
        ("gs://bucket/a//b", "an empty part"),
        ("gs://bucket/a/../b", "an empty part"),
    ],
)
def test_a_wrong_address_is_an_error_of_one_line(text, words):
    with pytest.raises(UserError) as raised:
        parse_address(text, "data.train")
    assert words in str(raised.value)
    assert str(raised.value).startswith("data.train: ") and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "pattern, names, matched",
    [
        ("d/*.csv", ["d/a.csv", "d/e/a.csv", "d/a.csv.gz"], ["d/a.csv"]),
        ("d/**/*.csv", ["d/a.csv", "d/e/f/a.csv"], ["d/a.csv", "d/e/f/a.csv"]),
        ("d/train-?.csv", ["d/train-1.csv", "d/train-12.csv"], ["d/train-1.csv"]),
        ("d/[ab].csv", ["d/a.csv", "d/c.csv"], ["d/a.csv"]),
        ("d/[!ab].csv", ["d/a.csv", "d/c.csv"], ["d/c.csv"]),
        ("d/[]a-].csv", ["d/].csv", "d/-.csv", "d/b.csv"], ["d/].csv", "d/-.csv"]),
        ("d/[!]a].csv", ["d/].csv", "d/b.csv"], ["d/b.csv"]),
        ("d[!a]*.csv", ["d/b.csv", "db.csv"], ["db.csv"]),
        ("d/[a--z-ac-].csv", ["d/a.csv", "d/c.csv", "d/-.csv"], ["d/c.csv", "d/-.csv"]),
        ("d/[!z-a].csv", ["d/a.csv", "d//.csv"], ["d/a.csv"]),
        ("d/[z-a][!].csv", ["d/z[!].csv"], []),
        ("d/a+b.csv", ["d/a+b.csv", "d/aab.csv"], ["d/a+b.csv"]),
    ],
)
def test_patterns_match_as_in_a_local_folder(pattern, names, matched):
    assert [name for name in names if to_regex(pattern).fullmatch(name)] == matched
    assert all(name.startswith(literal_prefix(pattern)) for name in matched)


def test_a_mounted_bucket_is_a_folder(tmp_path):
    (tmp_path / "a-bucket").mkdir()
    address = parse_address("gs://a-bucket/x/y.csv", "data.train")
    assert address.mounted(str(tmp_path)) == tmp_path / "a-bucket" / "x" / "y.csv"
    assert parse_address("gs://other/x", "data.train").mounted(str(tmp_path)) is None


@pytest.mark.parametrize(
    "name", ["../../f", "a/../b", "a//b", "/a", "a/", ".", "a\0b", "a/" + "é" * 101]
)
def test_names_that_leave_the_folder_are_refused(name):
    address = Address("a-bucket", "jobs/x")
    with pytest.raises(UserError, match="remove or rename it") as caught:
        check_local_names(address, {"config.yaml", name})
    assert str(caught.value).isprintable()
    check_local_names(address, {"config.yaml", "export/best/1/saved_model.pb", "Größe..x"})


@pytest.mark.parametrize(
    "text, expected",
    [
        ("job_dir: gs://b/census\n", "job_dir: /here\n"),
        ('"gs://b/census/model.ckpt-10"', '"/here/model.ckpt-10"'),
        ("resumed from gs://b/census.", "resumed from /here."),
        ("gs://b/census_data/x", "gs://b/census_data/x"),
        ("gs://b/census-2, gs://b/census.old/x", "gs://b/census-2, gs://b/census.old/x"),
        ("gs://b/census2", "gs://b/census2"),
    ],
)
def test_only_whole_parts_of_a_path_are_replaced(text, expected):
    assert replace_path(text, "gs://b/census", "/here") == expected


@pytest.mark.parametrize(
    "text",
    ["/mnt/tmp/job", "./tmp/job", "~/tmp/job", "/tmp/job+1/x", "/tmp/job@2", "x/tmp/job",
     "/tmp/job~", "/tmp/job%20x", "/tmp/job.old", "/tmp/jobs", "$HOME/tmp/job", "/tmp/job=1"],
)  # fmt: skip
def test_a_part_of_another_path_is_not_replaced(text):
    assert replace_path(f'a "{text}" b', "/tmp/job", "gs://b/x") == f'a "{text}" b'


@pytest.mark.parametrize(
    "text",
    ["{}", "{}/", "--fresh={}", "'{}'", "job_dir {}: is", "in {}.", "see {}...", "({})", "{}, {}/x",
     "a:{}:b", "x\n{}\ny", "[{}]"],
)  # fmt: skip
def test_a_path_is_replaced_wherever_it_stands_in_a_text(text):
    assert replace_path(text.replace("{}", "/tmp/job"), "/tmp/job", "gs://b/x") == text.replace(
        "{}", "gs://b/x"
    )


def test_only_the_field_job_dir_of_a_configuration_is_changed():
    config = (
        "data:\n  train: gs://b/x/rows.csv\njob_dir: {}\ntrain:\n  warm_start: gs://b/x/first\n"
    )
    text = config.format("gs://b/x")
    local = replace_job_dir("config.yaml", text, "gs://b/x", "/cache/Größe: 1/job")
    assert yaml.safe_load(local) == {
        **yaml.safe_load(text), "job_dir": "/cache/Größe: 1/job"
    }  # fmt: skip
    assert replace_job_dir("config.yaml", local, "/cache/Größe: 1/job", "gs://b/x") == text
    assert replace_job_dir("config.yaml", text, "gs://b/y", "/cache") == text
    assert replace_job_dir("config.yaml", "job_dir: [\n", "gs://b/y", "/cache") == "job_dir: [\n"
    state = 'model_checkpoint_path: "gs://b/x/model.ckpt-1"\n'
    assert '"/here/model.ckpt-1"' in replace_job_dir("checkpoint", state, "gs://b/x", "/here")
