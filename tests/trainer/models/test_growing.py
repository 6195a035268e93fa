"""Growing id tables in a job: training, checkpoints, resumed jobs, exports, refusals."""

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.api.models import load
from trainer.errors import UserError
from trainer.features.growing import GrowingIds, list_growing
from trainer.inputs.records import ROWS
from trainer.inputs.shuffle import BatchSchedule, cut_groups
from trainer.job_dir.checkpoints import latest_checkpoint
from trainer.job_dir.compatibility import check_same_model
from trainer.training.job import build_source, encode_sources

GROWING = {"capacity": 40, "min_rows": 2, "max_age_steps": 12}


def _rows(num_rows, users, seed=4, label="bought"):
    """Rows whose users come and go, and decide the label."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(num_rows):
        user = int(rng.zipf(1.4)) % users + index // 40
        rows.append(
            {
                "user": None if rng.random() < 0.05 else f"u{user}",
                "item": int(rng.integers(0, users)),
                "age": float(np.float32(rng.uniform(18, 80))),
                label: "yes" if (user * 7919) % 5 < 2 else "no",
            }
        )
    return rows


def _schema(user, item=None):
    from trainer.schema import Schema

    return Schema.model_validate(
        {
            "columns": {
                "user": {"type": "string", **user},
                "item": {"type": "int", **(item or {"use": []})},
                "age": {"type": "float"},
                "bought": {"type": "string"},
            },
            "label": {"column": "bought", "vocabulary": ["no", "yes"]},
        }
    )


class _Jobs:
    """Jobs on one file of rows."""

    def __init__(self, make, folder):
        self._make, self._folder = make, folder
        self.rows = _rows(600, 60)
        self._path = make.csv(folder / "rows.csv", self.rows)

    def configure(self, name, steps, **sections):
        train = {"batch_size": 30, "max_steps": steps, **sections.pop("train", {})}
        return self._make.config(
            self._folder / name,
            self._path,
            **{
                "model": {"type": "wide_deep", "hidden_units": [8]},
                "run": {"save_checkpoints_steps": 10, "log_step_count_steps": 5, "seed": 3},
                "data": {"cache": "none", "shuffle_rows": 200},
                **sections,
            },
            train=train,
        )

    def run(self, config, schema):
        return self._make.run(config, schema)

    def read(self, name):
        checkpoint = latest_checkpoint(str(self._folder / name))
        return {
            variable: tf.train.load_variable(checkpoint, variable)
            for variable, _ in tf.train.list_variables(checkpoint)
        }


@pytest.fixture(scope="module")
def jobs(make, tmp_path_factory):
    return _Jobs(make, tmp_path_factory.mktemp("growing"))


@pytest.fixture(scope="module")
def resumed(jobs):
    """(schema, job, variables) of a job of 24 steps that was stopped after 14 and resumed."""
    schema = _schema({"growing": GROWING}, {"growing": {"capacity": 1000}, "embedding": 5})
    jobs.run(jobs.configure("resumed", 14), schema)
    job, _ = jobs.run(jobs.configure("resumed", 24), schema)
    return schema, job, jobs.read("resumed")


def test_a_resumed_job_has_the_table_of_all_of_its_batches(resumed):
    _, job, variables = resumed
    (rows,) = encode_sources(job, [build_source(job, True)])
    fields = list_growing(rows.encoding)
    ids = GrowingIds(fields, None)
    changes = {}
    for first, last in ((0, 14), (14, 24)):
        schedule = BatchSchedule(lambda step: 30, first, count_at=lambda step: 1)
        groups = cut_groups(rows.iterate((3, 0, first)), schedule)
        for step, group in zip(range(first, last), groups):
            batch = rows.layout.unpack(group.chunk[ROWS], 30)["ids"]
            for name, values in ids.assign(batch, step).items():
                changes.setdefault(name, []).append(values)
    assert [field.name for field in fields] == ["user", "item"]
    for field in fields:
        for part in field.parts:
            for kind, empty in (("keys", -1), ("steps", -1), ("rows", 0)):
                wanted = np.full(field.options.capacity, empty)
                slots = changes["//changed/" + field.name_variable(part, "//slots")]
                values = changes["//changed/" + field.name_variable(part, kind)]
                for places, new in zip(slots, values):
                    wanted[places] = new
                np.testing.assert_array_equal(variables[field.name_variable(part, kind)], wanted)
    # The table was full, and rows were given away.
    assert (variables["growing/user/held_keys"] >= 0).all()
    given = [ids for ids in changes["//resets"] if len(ids)]
    assert np.bincount(np.concatenate(given)[:, 0])[0] > GROWING["capacity"]


def test_equal_to_a_vocabulary_while_the_table_has_room(jobs):
    words = sorted({row["user"] for row in jobs.rows if row["user"]})
    linear = {"model": {"type": "linear"}, "export": {"exporters": []}}
    for name, user in (
        ("room", {"growing": {"capacity": len(words)}}),
        ("words", {"vocabulary": words}),
    ):
        jobs.run(jobs.configure(name, 45, **linear), _schema(user))
    growing, known = jobs.read("room"), jobs.read("words")
    name = "linear/linear_model/user/weights"
    assert growing[name].shape == (len(words) + 1, 1)
    np.testing.assert_allclose(np.sort(growing[name][1:, 0]), np.sort(known[name][:, 0]), atol=1e-6)
    assert len(np.unique(known[name])) > 50
    np.testing.assert_allclose(
        growing["linear/linear_model/bias_weights"], known["linear/linear_model/bias_weights"]
    )


def test_steps_in_one_run_of_the_session_change_nothing(jobs):
    found = []
    for together in (1, 4):
        name, train = f"together{together}", {"steps_per_run": together}
        config = jobs.configure(name, 20, train=train, export={"exporters": []})
        jobs.run(config, _schema({"growing": GROWING}))
        found.append(jobs.read(name))
    for name, values in found[0].items():
        np.testing.assert_allclose(found[1][name], values, rtol=1e-5, atol=1e-6, err_msg=name)


def test_an_export_knows_the_ids_of_its_checkpoint(jobs, resumed):
    schema, job, variables = resumed
    rows = [{"user": row["user"], "item": 3, "age": 40.0} for row in jobs.rows]
    strangers = [{**rows[0], "user": user} for user in ("never seen", "nor this")]
    with load(str(job.config.job_dir)) as model:
        scores = [score["probabilities"][1] for score in model.predict([*rows, *strangers])]
    by_user = {}
    for row, score in zip(rows, scores):
        by_user.setdefault(row["user"], set()).add(round(float(score), 6))
    assert all(len(found) == 1 for found in by_user.values())
    recent = variables["growing/user/held_steps"] >= 24 - GROWING["max_age_steps"]
    values = {found.pop() for user, found in by_user.items() if user}
    # One value for all users without a row of their own.
    assert 0.8 * recent.sum() < len(values) <= recent.sum() + 1
    first, second = scores[-2:]
    assert first == second
    assert round(float(first), 6) in values


def test_what_growing_tables_cannot_do_is_refused(jobs, resumed):
    schema, job, _ = resumed
    with pytest.raises(UserError, match="only the fused engine has it, which does not cover model"):
        jobs.run(jobs.configure("trees", 5, model={"type": "boosted_trees"}), schema)
    with pytest.raises(UserError, match="its ids cannot be taken over; continue the other job"):
        jobs.run(jobs.configure("warm", 5, train={"warm_start": str(job.config.job_dir)}), schema)
    with pytest.raises(UserError, match="growing.capacity was 40, now 50"):
        larger = _schema({"growing": {**GROWING, "capacity": 50}}, {"growing": {"capacity": 1000}})
        check_same_model(job.config, larger)
