"""A trainer of TensorFlow 2.4 with its own checkpoint, as docs/from_2_4.md takes it to today.

And a model of that time in this project's trainer.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import pytest
import tensorflow as tf

HERE = Path(__file__).parent


@pytest.mark.newest
def test_the_job_of_2_4_is_evaluated_as_there(tmp_path):
    project = tmp_path / "taxi"
    shutil.copytree(HERE / "old_project", project)
    shutil.copytree(HERE / "stored" / "project_2.4.4", project / "job")
    subprocess.run([sys.executable, "make_data.py"], cwd=project, check=True)
    command = [sys.executable, "-m", "estimator_bridge", "run", "-m", "trainer.task"]
    done = subprocess.run(
        [*command, "--model_dir=job", "--max_steps=200"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    why = 'because setup.py says install_requires=["tensorflow>=2.4,<2.5"]; --as='
    assert f"the names of TensorFlow 2.4, {why}" in done.stderr
    # What 2.4.4 printed.
    assert ast.literal_eval(done.stdout.splitlines()[-1]) == pytest.approx(
        {"auc": 0.93574, "loss": 0.33753, "global_step": 200.0}, abs=2e-5
    )
    page = (HERE.parents[2] / "docs" / "from_2_4.md").read_text(encoding="utf-8")
    assert page.count(done.stdout.splitlines()[-1]) == 2


MODEL = """
import tensorflow as tf
from trainer.features import build_feature_columns

def build(run_config, hparams, schema):
    def model_fn(features, labels, mode):
        dense = tf.keras.layers.DenseFeatures(
            build_feature_columns(schema, hparams.statistics).deep
        )
        output = tf.keras.layers.Dense(1)
        logits = output(dense(features))
        optimizer = tf.keras.optimizers.Adam(lr=0.05, decay=0.001)
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        return tf.estimator.BinaryClassHead().create_estimator_spec(
            features,
            mode,
            logits,
            labels=None if labels is None else tf.expand_dims(labels, 1),
            optimizer=optimizer,
            trainable_variables=dense.trainable_variables + output.trainable_variables,
        )

    return tf.estimator.Estimator(model_fn, config=run_config)
"""
SCHEMA = """
columns: {x: {type: float}, kind: {type: string, vocabulary: [a, b]}, y: {type: int}}
label: {column: y, num_classes: 2}
"""


@pytest.mark.newest
def test_the_trainer_trains_a_model_of_2_8_and_predicts_with_it(tmp_path):
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    rows = [f"{place % 7 - 3.5},{'ab'[place % 2]},{int(place % 7 > 3)}" for place in range(140)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,kind,y", *rows]) + "\n")

    def run(*command):
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        done = forked.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    run(
        *("estimator_bridge", "run", "--as=2.8", "-m", "trainer.task", "--model=mine:build"),
        *("--data.schema_file=schema.yaml", "--train_data=rows.csv", "--eval_data=rows.csv"),
        *("--job_dir=job", "--train_steps=40"),
    )
    names = {name for name, _ in tf.train.list_variables(str(tmp_path / "job"))}
    # What only the classes of that time save.
    assert {"training/Adam/decay", "Adam/decay"} & names, names
    row = json.dumps({"x": 2.5, "kind": "a"})
    printed = run("trainer.predict", "--as=2.8", "--job_dir=job", f"--row={row}")
    assert json.loads(printed)["probabilities"][1] > 0.5
