"""TensorBoard reads the trials of a search as it reads its own."""

import json
import subprocess
import sys

import pytest

from trainer.config.search_space import parse_search
from trainer.job_dir.metrics_log import MetricsLog
from trainer.tuning.search import Objective, Search
from trainer.tuning.study import Study
from trainer.tuning.tensorboard import FOLDER, write_trials

pytestmark = [pytest.mark.quick, pytest.mark.newest]
READ = """
import json, sys
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams import metadata
from tensorboard.util import tensor_util

runs = EventMultiplexer().AddRunsFromDirectory(sys.argv[1]).Reload()
found = {}
for name in sorted(runs.Runs()):
    data = runs.SummaryMetadata(name, metadata.SESSION_START_INFO_TAG).plugin_data.content
    start = metadata.parse_session_start_info_plugin_data(data)
    data = runs.SummaryMetadata(name, metadata.SESSION_END_INFO_TAG).plugin_data.content
    values = {k: v.number_value or v.string_value for k, v in start.hparams.items()}
    scalars = [
        (event.step, round(float(tensor_util.make_ndarray(event.tensor_proto)), 3))
        for event in runs.Tensors(name, "auc")
    ]
    status = metadata.parse_session_end_info_plugin_data(data).status
    found[name] = [values, scalars, status]
print(json.dumps(found))
"""


@pytest.mark.long
def test_the_hparams_plugin_reads_values_evaluations_and_ends(tmp_path):
    space = parse_search(["learning_rate=log:0.01..1", "optimizer=adam|adagrad"])
    search = Search(None, {}, space, (Objective("auc", "max"),), 0.2, 2, 1000)
    study = Study(tmp_path, search, "random", "none", seed=1)
    texts = []
    for number, state in enumerate(["COMPLETE", "FAIL"]):
        trial = study.ask()
        texts.append(study.to_texts(trial))
        log = MetricsLog(str(tmp_path / "trials" / str(number)))
        log._path.parent.mkdir(parents=True)
        for step in (10, 20):
            log.append("eval", step, {"auc": 0.5 + step / 100, "loss": 0.1})
        study.tell(trial, state, [0.7] if state == "COMPLETE" else None)
    study.ask()
    for _ in range(2):
        write_trials(tmp_path, "trials", search, study)
    read = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / FOLDER)], capture_output=True, text=True
    )
    assert read.returncode == 0, read.stderr
    found = json.loads(read.stdout.splitlines()[-1])
    assert sorted(found) == ["0", "1"]
    for number, status in enumerate((1, 2)):
        rate, optimizer = texts[number]["learning_rate"], texts[number]["optimizer"]
        values = {"learning_rate": float(rate), "optimizer": optimizer}
        assert found[str(number)] == [values, [[10, 0.6], [20, 0.7]], status]
