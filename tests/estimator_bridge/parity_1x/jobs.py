"""Runs whole programs from checkpoint files of TensorFlow 1.15, and has their exports answer.

1.15 trains a few steps; its checkpoint files are stored, and so is its SavedModel at the end. Both
TensorFlows train on from these files, evaluate, predict, export, and answer a request with their
own SavedModel and with the stored one.
"""

import base64
import glob
import io
import os
import shutil
import tarfile
import tempfile
import zlib

import numpy as np
import tensorflow as tf
import trained
import values

FIRST_STEPS, LAST_STEP = 4, 54
# tf.sigmoid of 1.15 and of today differ by up to 39 rounding steps between -4 and 4, tf.tanh by 5,
# in every step of a training. The variables are moved by as many, to measure how far results move.
ROUNDING_STEPS = 39
# Statistics of the machine, not of the model.
UNSTABLE = ("global_step/sec", "examples/sec", "steps_per_second")


class EstimatorJob:
    """A program around one Estimator.

    Args:
      estimator: the Estimator.
      input_fn: its input for training, evaluation and prediction, without end.
      receiver_fn: serving_input_receiver_fn of the export; None without export.
      request: name of an input of the signature -> array.
      hooks: hooks of training.
      exported: the Estimator that is exported, if it is another one.
    """

    def __init__(self, estimator, input_fn, receiver_fn=None, request=None, **options):
        self.estimator, self.input_fn = estimator, input_fn
        self.receiver_fn, self.request = receiver_fn, request
        self.hooks, self.exported = options.get("hooks"), options.get("exported", estimator)

    def train(self, last_step):
        self.estimator.train(self.input_fn, max_steps=last_step, hooks=self.hooks)

    def answers(self):
        """Returns name -> value of an evaluation and of all predictions."""
        found = {
            "eval " + name: one for name, one in self.estimator.evaluate(self.input_fn, 3).items()
        }
        rows = [row for row, _ in zip(self.estimator.predict(self.input_fn), range(8))]
        found.update({"predict " + name: np.stack([row[name] for row in rows]) for name in rows[0]})
        return found

    def export(self, folder):
        if self.receiver_fn is None:
            return None
        return self.exported.export_savedmodel(folder, self.receiver_fn, strip_default_attrs=True)


def pack(folder, names):
    """Returns files of a folder as the text of an archive; the same files give the same text."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name in sorted(names):
            entry = tarfile.TarInfo(name)
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return base64.b64encode(zlib.compress(whole.getvalue(), 9)).decode()


def unpack(text, folder):
    content = zlib.decompress(base64.b64decode(text))
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder)
    return folder


def pack_checkpoint(folder):
    """Returns the newest checkpoint of a folder without its graph."""
    newest = os.path.basename(tf.train.latest_checkpoint(folder))
    with open(os.path.join(folder, "checkpoint"), "w") as file:
        file.write(f'model_checkpoint_path: "{newest}"\n')
    files = glob.glob(os.path.join(folder, newest + ".*"))
    names = [os.path.basename(one) for one in files if not one.endswith(".meta")]
    return pack(folder, ["checkpoint"] + names)


def pack_export(folder):
    names = [
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, files in os.walk(folder)
        for name in files
        if name != "fingerprint.pb"
    ]
    return pack(folder, names)


def answer(folder, request):
    """Returns "signature/output" -> array of every signature that takes a request."""
    found = {}
    with tf.Graph().as_default(), tf.Session(config=values.one_thread()) as session:
        model = tf.saved_model.loader.load(session, ["serve"], folder)
        for key in sorted(model.signature_def):
            signature = model.signature_def[key]
            # Of one input, the name differs between the signatures.
            if len(signature.inputs) == len(request) == 1:
                feed = dict(zip([one.name for one in signature.inputs.values()], request.values()))
            elif set(signature.inputs) == set(request):
                feed = {signature.inputs[name].name: one for name, one in request.items()}
            else:
                continue
            outputs = {name: one.name for name, one in signature.outputs.items()}
            for name, one in session.run(outputs, feed).items():
                found[f"{key}/{name}"] = one
    return found


def shift(folder):
    """Moves every real variable of the checkpoint in a folder by ROUNDING_STEPS."""
    moved, found = {}, trained.read_variables(folder)
    if any(isinstance(one, bytes) for one in found.values()):
        # Trees are texts.
        return
    for name, one in found.items():
        for _ in range(ROUNDING_STEPS if one.dtype.kind == "f" else 0):
            one = values.nudged(one)
        moved[name] = trained.as_record(name, one)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    trained.write_checkpoint(folder, moved)


def used_rows(array):
    """Returns a hash table of 1.15 without its empty rows; other arrays as they are."""
    if np.ndim(array) != 2 or len(array) < 100000:
        return array
    return array[(np.abs(array) > 1e-30).any(axis=1)]


def event_tags(folder, at_steps=True):
    """Returns "step tag" of the summaries that a program has written below a folder, sorted.

    Args:
      folder: the folder.
      at_steps: whether the steps are compared; otherwise only "tag" is returned.
    """
    found = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            if "tfevents" in name:
                for event in tf.train.summary_iterator(os.path.join(parent, name)):
                    tags = [one.tag for one in event.summary.value]
                    found.update(f"{event.step} {tag}" if at_steps else tag for tag in tags)
    return sorted(one for one in found if not one.endswith(UNSTABLE))


def run(build, given=None):
    """Returns the record of a program.

    Args:
      build: function from a folder to a job.
      given: record whose checkpoint and export to begin with; None makes them first.
    """
    top = tempfile.mkdtemp()
    folder = os.path.join(top, "job")
    try:
        if given is None:
            build(folder).train(FIRST_STEPS)
            given = {"checkpoint": pack_checkpoint(folder)}
            shutil.rmtree(folder)
            # Its writers are for files that are gone.
            tf.summary.FileWriterCache.clear()
        unpack(given["checkpoint"], folder)
        if values.nudge:
            shift(folder)
        job = build(folder)
        job.train(LAST_STEP)
        found = trained.read_variables(folder)
        results = {"variable " + name: used_rows(one) for name, one in found.items()}
        results.update(job.answers())
        record = {"checkpoint": given["checkpoint"], "end": pack_checkpoint(folder)}
        exported = job.export(os.path.join(top, "exports"))
        if exported:
            exported = tf.compat.as_str(exported)
            record["export"] = pack_export(exported)
            stored = unpack(given.get("export", record["export"]), os.path.join(top, "stored"))
            for kind, one in (("export", exported), ("stored export", stored)):
                for name, value in answer(one, job.request).items():
                    results[kind + " " + name] = value
        record.update(
            variables=sorted(
                [name, list(np.shape(one)), np.asarray(one).dtype.name]
                for name, one in found.items()
            ),
            local_variables=[],
            collections={},
            summaries=event_tags(folder, getattr(job, "at_steps", True)),
            initial={},
            gradients={},
            outputs={name: trained.as_record(name, one) for name, one in results.items()},
        )
        return record
    finally:
        shutil.rmtree(top)


def measure(cases, native, starts):
    """Returns case -> record.

    Args:
      cases: case -> function from a folder to a job.
      native: whether this is TensorFlow 1.15.
      starts: case -> record whose `checkpoint` and `export` to begin with; {} makes them first.
    """
    found = {}
    for name, build in cases.items():
        try:
            given = starts.get(name, {})
            record = run(build, given if "checkpoint" in given else None)
        except Exception as error:
            found[name] = {"error": type(error).__name__, "message": str(error)[:300]}
            values.show_error()
            continue
        if native:
            values.nudge = 1
            record["moved"] = trained.distances(record, run(build, record))
            values.nudge, record["random"] = 0, []
            trained.keep_apart(record, trained.distances(record, run(build, record)))
            # Where the bridge ends is what 1.15 goes on from, not the reverse.
            del record["end"]
        found[name] = record
    return found
