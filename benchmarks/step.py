"""Measures a training step of the fused engine by the size of its tables.

    python benchmarks/step.py                     (about a minute)
    python benchmarks/step.py --optimizer=adam    (updates whole tables, as Keras does)

The rows are clicks (`clicks.py`), prepared before the time is taken, as the input pipeline does it
beside training. The sizes take turns, and the lowest processor time of a step is printed, because
it suffers least from other load on the machine. A step touches the same number of rows, nearly,
whatever the size.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import clicks  # noqa: E402
from estimator_bridge import estimator, tf  # noqa: E402
from trainer.cluster.run_config import build_run_config  # noqa: E402
from trainer.config import Config  # noqa: E402
from trainer.features.parts import derive_features  # noqa: E402
from trainer.models.build import build_estimator, build_preparation  # noqa: E402
from trainer.models.fused.engine import Engine  # noqa: E402
from trainer.models.fused.rows import DISTINCT  # noqa: E402
from trainer.schema import Schema, Statistics  # noqa: E402

STEPS = 32


class Trainer:
    """A model with tables of a size, and prepared rows of one run of the session.

    Args:
        buckets: greatest number of rows of a column's table.
        options: batch, embedding, hidden_units, optimizer and bfloat16.
    """

    def __init__(self, buckets: int, options: argparse.Namespace):
        schema = Schema.model_validate(clicks.describe_schema(buckets, options.embedding))
        train = {
            "batch_size": options.batch,
            "optimizer": options.optimizer,
            "bfloat16": options.bfloat16,
        }
        model = {"type": "wide_deep", "hidden_units": options.hidden_units}
        config = Config.model_validate(
            {"job_dir": tempfile.gettempdir(), "model": model, "train": train}
        )
        statistics = Statistics(STEPS * options.batch, {})
        built = build_estimator(
            config, schema, statistics, build_run_config(config), 1, Engine("fused")
        )
        with tf.Graph().as_default() as graph:
            tf.compat.v1.train.create_global_step()
            prepare = build_preparation(config, schema, statistics).begin()
            features, labels = read_rows(schema, options.batch)
            rows = prepare(derive_features(features, schema, statistics), labels)
            fed = {
                name: tf.compat.v1.placeholder(one.dtype, one.shape) for name, one in rows.items()
            }
            spec = built.model_fn(fed, None, estimator.ModeKeys.TRAIN, built.config)
            self.variables = sum(
                one.shape.num_elements() for one in tf.compat.v1.trainable_variables()
            )
            session = tf.compat.v1.Session(graph=graph, config=built._session_config)
            session.run(
                [tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()]
            )
            values = session.run(rows)
        self.touched = (
            sum(len(one) for name, one in values.items() if name.startswith(DISTINCT)) / STEPS
        )
        call = session.make_callable(spec.train_op, list(fed.values()))
        self.run = lambda: call(*(values[name] for name in fed))


def read_rows(schema: Schema, batch: int) -> tuple:
    """Returns features and labels, name → tensor [STEPS, batch] of the raw type; and labels."""
    chunk = next(clicks.generate(STEPS * batch))
    features = {}
    for name, column in zip(chunk.schema.names, chunk.columns):
        values = column.fill_null("" if name in clicks.WORDS else 0).to_numpy(zero_copy_only=False)
        kind = {"string": str, "int": "int64", "float": "float32"}[schema.columns[name].type]
        features[name] = tf.constant(values.astype(kind).reshape(STEPS, batch))
    labels = features.pop(clicks.LABEL)
    return features, labels


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--buckets", type=int, nargs="+", default=[1 << 14, 1 << 17, 1 << 20])
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--embedding", type=int, default=16)
    parser.add_argument("--hidden_units", type=int, nargs="+", default=[64, 32])
    parser.add_argument("--optimizer", default="adagrad")
    parser.add_argument("--bfloat16", action="store_true", help="hidden layers in bfloat16")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    trainers = {buckets: Trainer(buckets, options) for buckets in options.buckets}
    lowest: dict = {}
    for turn in range(options.rounds + 1):
        for buckets, one in trainers.items():
            started = time.process_time()
            one.run()
            spent = (time.process_time() - started) / STEPS
            if turn:
                lowest[buckets] = min(lowest.get(buckets, spent), spent)
    print("| buckets | parameters | rows touched by a step | processor ms a step |")
    print("|--:|--:|--:|--:|")
    for buckets, one in trainers.items():
        cells = f"{buckets:,} | {one.variables:,} | {one.touched:,.0f}"
        print(f"| {cells} | {lowest[buckets] * 1e3:.2f} |")


if __name__ == "__main__":
    main()
