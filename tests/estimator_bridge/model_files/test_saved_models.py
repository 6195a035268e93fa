"""What is damaged or missing in the files of a SavedModel."""

import shutil

import pytest

from estimator_bridge import tf
from estimator_bridge.cli import main
from estimator_bridge.model_files.saved_models import find_damage

pytestmark = pytest.mark.versions

v1 = tf.compat.v1


def save_1x(folder, has_variable):
    """Writes a SavedModel as programs of 1.x and Estimators do."""
    words = folder.parent / "words.txt"
    words.write_text("a\nb\n")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], "x")
        y = x * (v1.get_variable("w", [], use_resource=False) if has_variable else 2.0)
        asset = tf.constant(str(words))
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(folder))
        sign = v1.saved_model.predict_signature_def
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": sign({"x": x}, {"y": y})},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
        )  # fmt: skip
        builder.save()
    return folder


def save_2x(folder):
    module = tf.Module()
    module.w = tf.Variable([1.0, 2.0])
    module.answer = tf.function(lambda: module.w + 1.0, input_signature=[])
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.answer})
    return folder


def test_whole_exports_have_no_fault(tmp_path):
    assert find_damage(save_1x(tmp_path / "one", True)) is None
    assert find_damage(save_1x(tmp_path / "none", False)) is None
    assert find_damage(save_2x(tmp_path / "two")) is None


@pytest.mark.parametrize("is_2x", [False, True])
def test_every_missing_or_shorter_file_is_named(tmp_path, capsys, is_2x):
    whole = save_2x(tmp_path / "one") if is_2x else save_1x(tmp_path / "one", True)
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()]
    named = [one for one in files if one.name not in ("fingerprint.pb", "saved_model.pb")]
    assert len(named) == (2 if is_2x else 3)
    for number, name in enumerate(named):
        export = tmp_path / f"missing{number}"
        shutil.copytree(whole, export)
        (export / name).unlink()
        for words in (["downgrade", str(export), "--to=1.15"], ["repair", str(export)]):
            assert main(words) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line == (
                f"estimator_bridge: {export}/{name}: missing; copy the whole export again, or "
                "export anew"
            )
    content = (whole / "saved_model.pb").read_bytes()
    for length in range(0, len(content), max(1, len(content) // 50)):
        (whole / "saved_model.pb").write_bytes(content[:length])
        assert find_damage(whole).startswith("saved_model.pb: damaged, or cut off; ")
