"""trainer.export.graph_reuse: an export that only writes variables equals a complete one."""

import os
import threading
import time
from pathlib import Path

import pytest

from estimator_bridge import estimator, tf
from trainer.export.exporters import BestExporter, list_exports
from trainer.export.graph_reuse import ExportGraphCache


def _model_fn(features, labels, mode, params):
    """A weight per word of a vocabulary file, in a partitioned variable, and a bias."""
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            params["words"],
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        1,
    )
    weights = tf.compat.v1.get_variable(
        "weights", [4], partitioner=tf.compat.v1.fixed_size_partitioner(2)
    )
    bias = tf.compat.v1.get_variable("bias", [], initializer=tf.compat.v1.zeros_initializer())
    rows = tf.nn.embedding_lookup(weights, table.lookup(features["color"]))
    answer = rows * features["x"] + bias
    if mode == estimator.ModeKeys.PREDICT:
        outputs = {"serving_default": estimator.export.PredictOutput({"answer": answer})}
        return estimator.EstimatorSpec(mode, {"answer": answer}, export_outputs=outputs)
    loss = tf.reduce_mean((answer - tf.cast(labels, tf.float32)) ** 2)
    step = tf.compat.v1.train.get_or_create_global_step()
    train = tf.compat.v1.train.AdamOptimizer(0.1).minimize(loss, step)
    return estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def _receiver_fn():
    given = {
        "x": tf.compat.v1.placeholder(tf.float32, [None], "x"),
        "color": tf.compat.v1.placeholder(tf.string, [None], "color"),
    }
    return estimator.export.ServingInputReceiver(given, given)


class Trained:
    """An Estimator with two checkpoints."""

    def __init__(self, bench, folder):
        words = folder / "words.txt"
        words.write_text("red\ngreen\nblue\n")
        config = estimator.RunConfig(str(folder / "job"), tf_random_seed=1)
        self.folder = folder
        self.built = estimator.Estimator(_model_fn, config=config, params={"words": str(words)})
        self.checkpoints = []
        for _ in range(2):
            self.built.train(bench.feed(bench.positive), steps=3)
            self.checkpoints.append(self.built.latest_checkpoint())

    def exporter(self, name="latest"):
        return estimator.LatestExporter(name, _receiver_fn, exports_to_keep=3)

    def ask(self, path):
        model = tf.saved_model.load(str(path))
        answer = model.signatures["serving_default"](
            x=tf.constant([1.0, 2.0]), color=tf.constant(["red", "other"])
        )
        return answer["answer"].numpy().tolist()


@pytest.fixture
def trained(bench, tmp_path):
    return Trained(bench, tmp_path)


class Counted:
    """An Estimator that counts the exports it makes itself."""

    def __init__(self, built):
        self._built = built
        self.made = 0

    def __getattr__(self, name):
        return getattr(self._built, name)

    def export_saved_model(self, *args, **options):
        self.made += 1
        return self._built.export_saved_model(*args, **options)


def _export(kept, exporter, base, checkpoint):
    made = exporter.export(kept.for_exporter(exporter), str(base), checkpoint, {}, False)
    return Path(made.decode())


def _read(path):
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_reused_export_is_identical_to_a_new_one(trained, tmp_path):
    built = Counted(trained.built)
    kept, exporter = ExportGraphCache(built), trained.exporter()
    first, second = trained.checkpoints
    before = _export(kept, exporter, tmp_path / "kept", first)
    after = _export(kept, exporter, tmp_path / "kept", second)
    assert built.made == 1
    fresh = _export(ExportGraphCache(trained.built), exporter, tmp_path / "fresh", second)
    assert {"saved_model.pb", "assets/words.txt", "variables/variables.index"} <= set(_read(after))
    assert _read(after) == _read(fresh) != _read(before)
    assert trained.ask(after) == trained.ask(fresh) != trained.ask(before)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [before.name, after.name]


def test_exports_within_one_second_have_different_names(trained, tmp_path):
    kept, exporter = ExportGraphCache(trained.built), trained.exporter()
    base, made = tmp_path / "latest", []
    for number in range(6):
        made.append(_export(kept, exporter, base, trained.checkpoints[number % 2]))
    assert list_exports(str(base)) == [str(path) for path in made[-3:]]
    expected = trained.ask(made[-2])
    # In another run, whose clock is behind those names, the new export is still the newest.
    (base / str(int(time.time()) + 50)).mkdir()
    again = _export(ExportGraphCache(trained.built), exporter, base, trained.checkpoints[0])
    assert list_exports(str(base))[-1] == str(again)
    assert trained.ask(again) == expected


def test_an_export_is_on_the_disk_before_it_has_its_name(trained, tmp_path, monkeypatch):
    synced, fsync = {}, os.fsync

    def note(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        # The names that the exports have at this moment.
        names = list_exports(str(tmp_path / "exports"))
        synced[status.st_ino] = (len(names), status.st_size)

    monkeypatch.setattr("estimator_bridge.model_files.durable.os.fsync", note)
    kept, exporter = ExportGraphCache(trained.built), trained.exporter()
    for num, checkpoint in enumerate(trained.checkpoints):
        path = Path(_export(kept, exporter, tmp_path / "exports", checkpoint))
        for file in path.rglob("*"):
            status = file.stat()
            assert synced[status.st_ino] == (num, status.st_size), file


def test_concurrent_exports_have_different_folders(trained, tmp_path):
    base, made = tmp_path / "latest", []
    exporter = estimator.LatestExporter("latest", _receiver_fn, exports_to_keep=None)
    both = [ExportGraphCache(trained.built) for _ in range(2)]
    for kept in both:
        made.append(_export(kept, exporter, base, trained.checkpoints[0]))

    def run(kept):
        for _ in range(8):
            made.append(_export(kept, exporter, base, trained.checkpoints[0]))

    threads = [threading.Thread(target=run, args=(kept,)) for kept in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == len(made) == 18
    assert sorted(map(str, made)) == list_exports(str(base))
    assert [path for path in base.iterdir() if not path.name.isdigit()] == []
    contents = [_read(path) for path in made]
    assert all(content == contents[0] for content in contents)


def test_missing_assets_rebuild_the_export(trained, tmp_path):
    built = Counted(trained.built)
    kept = ExportGraphCache(built)
    first = _export(kept, trained.exporter(), tmp_path / "latest", trained.checkpoints[0])
    (first / "assets" / "words.txt").write_text("other\n")
    second = _export(kept, trained.exporter(), tmp_path / "latest", trained.checkpoints[1])
    assert built.made == 2
    assert (second / "assets" / "words.txt").read_text() == "red\ngreen\nblue\n"


def test_checkpoint_that_does_not_fit_is_exported_by_the_estimator(trained, tmp_path):
    kept, base = ExportGraphCache(trained.built), tmp_path / "latest"
    _export(kept, trained.exporter(), base, trained.checkpoints[0])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        other = tf.compat.v1.get_variable("other", [])
        session.run(other.initializer)
        path = tf.compat.v1.train.Saver().save(session, str(tmp_path / "other" / "model.ckpt"))
    with pytest.raises(ValueError, match="Could not load all requested variables"):
        _export(kept, trained.exporter(), base, path)
    assert len(list_exports(str(base))) == 1


def test_every_exporter_has_its_own_folder_and_files(trained, tmp_path):
    """TensorFlow's exporters and ours share one graph, and write their own extra assets."""
    note = tmp_path / "note.txt"
    built = Counted(trained.built)
    kept = ExportGraphCache(built)
    exporters = [
        estimator.LatestExporter("latest", _receiver_fn, assets_extra={"a/note.txt": str(note)}),
        estimator.FinalExporter("final", _receiver_fn),
        BestExporter(_receiver_fn, "loss", "min", 2, {"note.txt": str(note)}),
        estimator.BestExporter("better", _receiver_fn),
    ]
    for number, checkpoint in enumerate(trained.checkpoints):
        note.write_text(f"note {number}")
        for exporter in exporters:
            result = {"loss": 2.0 - number, "global_step": 3 * number}
            folder = str(tmp_path / exporter.name)
            exporter.export(kept.for_exporter(exporter), folder, checkpoint, result, number == 1)
    assert built.made == 1
    exports = {name: list_exports(str(tmp_path / name)) for name in ("latest", "best", "better")}
    assert {name: len(paths) for name, paths in exports.items()} == {
        "latest": 2,
        "best": 2,
        "better": 2,
    }
    (final,) = list_exports(str(tmp_path / "final"))
    assert [
        (Path(path) / "assets.extra" / "a" / "note.txt").read_text() for path in exports["latest"]
    ] == ["note 0", "note 1"]
    assert not (Path(final) / "assets.extra").exists()
    answers = [trained.ask(path) for path in (final, *(paths[-1] for paths in exports.values()))]
    assert answers == [answers[0]] * 4


def test_each_receiver_has_its_own_graph(trained, tmp_path):
    def other():
        receiver = _receiver_fn()
        return estimator.export.ServingInputReceiver(
            receiver.features, {"only": receiver.features["x"], **receiver.features}
        )

    built = Counted(trained.built)
    kept = ExportGraphCache(built)
    for name, receiver_fn in (("one", _receiver_fn), ("two", other)) * 2:
        exporter = estimator.LatestExporter(name, receiver_fn)
        _export(kept, exporter, tmp_path / name, trained.checkpoints[0])
    assert built.made == 2
    one, two = (list_exports(str(tmp_path / name)) for name in ("one", "two"))
    assert _read(Path(one[0])) == _read(Path(one[1]))
    assert _read(Path(two[0])) == _read(Path(two[1])) != _read(Path(one[0]))


def test_exports_that_do_not_use_the_cache(trained, tmp_path):
    built = Counted(trained.built)
    kept = ExportGraphCache(built)
    as_text = estimator.LatestExporter("text", _receiver_fn, as_text=True)
    for checkpoint in trained.checkpoints:
        path = _export(kept, as_text, tmp_path / "text", checkpoint)
        assert (path / "saved_model.pbtxt").exists()
    assert built.made == 2

    class Theirs(estimator.Exporter):
        name = "theirs"

        def export(self, estimator, *rest):
            return estimator

    assert kept.for_exporter(Theirs()) is built
    facade = kept.for_exporter(as_text)
    assert facade.model_dir == trained.built.model_dir
