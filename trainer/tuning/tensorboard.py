"""Event files by which TensorBoard's hparams plugin shows the trials of a search."""

import shutil
from pathlib import Path
from typing import Any

from trainer.job_dir.metrics_log import MetricsLog
from trainer.tuning.search import Search
from trainer.tuning.study import Study

FOLDER = "tensorboard"


def write_trials(folder: Path, trials_folder: str, search: Search, study: Study) -> None:
    """Writes one run for each trial that has ended: its values, and its evaluations.

    The runs are derived from the trials, and written again each time.

    Args:
        folder: of the study.
        trials_folder: name of its folder with the trials.
        search: what is searched.
        study: has the trials.
    """
    # Imported here: it takes half a second. TensorBoard's writer of event files imports TensorFlow.
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    def describe(tag: str, **given: Any) -> Any:
        data = plugin_data_pb2.HParamsPluginData(**given)
        described = metadata.create_summary_metadata(data)
        value = Summary.Value(tag=tag, metadata=described, tensor=metadata.NULL_TENSOR)
        return Summary(value=[value])

    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    succeeded, failed = api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE
    status = {"COMPLETE": succeeded, "PRUNED": succeeded, "FAIL": failed}
    for trial in study.trials:
        if trial.state.name not in status or not trial.params:
            continue
        started = trial.datetime_start.timestamp()
        info = plugin_data_pb2.SessionStartInfo(start_time_secs=started)
        for name, value in _read_values(search, study, trial).items():
            kind = "string_value" if isinstance(value, str) else "number_value"
            setattr(info.hparams[name], kind, value)
        begun = describe(metadata.SESSION_START_INFO_TAG, session_start_info=info)
        events = [
            Event(wall_time=started, file_version="brain.Event:2"),
            Event(wall_time=started, summary=begun),
        ]
        for line in MetricsLog(str(folder / trials_folder / str(trial.number))).read("eval"):
            values = [
                Summary.Value(tag=each.metric, simple_value=line[each.metric])
                for each in search.objectives
                if each.metric in line
            ]
            events.append(
                Event(wall_time=started, step=line["step"], summary=Summary(value=values))
            )
        end = plugin_data_pb2.SessionEndInfo(
            status=status[trial.state.name], end_time_secs=trial.datetime_complete.timestamp()
        )
        ended = describe(metadata.SESSION_END_INFO_TAG, session_end_info=end)
        events.append(Event(wall_time=started, summary=ended))
        run = folder / FOLDER / str(trial.number)
        run.mkdir(parents=True)
        with (run / f"events.out.tfevents.{int(started)}.trials").open("wb") as stream:
            writer = RecordWriter(stream)
            for event in events:
                writer.write(event.SerializeToString())


def _read_values(search: Search, study: Study, trial: Any) -> dict[str, Any]:
    return {
        name: text if search.parameters[name].values else float(text)
        for name, text in study.to_texts(trial).items()
    }
