"""A job that trains, as far as storage notices: it writes the files that an Estimator writes."""

import contextlib
import errno
import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple, Optional

from estimator_bridge.model_files import durable
from simulation import kernel
from trainer import job_layout, storage
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE
from trainer.errors import UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.signals import Interrupted
from trainer.storage.bucket import Bucket
from trainer.storage.workspace import open_workspace

BUCKET, JOB = "a-bucket", "jobs/x"
ADDRESS = f"gs://{BUCKET}/{JOB}"
STATE = "checkpoint"
CHECKPOINT = re.compile(r"model\.ckpt-(\d+)\.(index|data-\d+-of-\d+)")
EXPORT = re.compile(r"(export/best/\d+/)(.*)")


class Lines(Console):
    """Notes lines in the story instead of writing them."""

    def __init__(self, note):
        super().__init__(quiet=True)
        self.log = self.warn = note


class Settings(storage.Settings):
    """How a simulated machine accesses the bucket."""

    client = None

    def open_bucket(self, name):
        client = Settings.client
        from simulation.seams import _sleep

        return Bucket(name, self.timeout_secs, self.patience_secs, client=client, sleep=_sleep)


def make_content(mark, size):
    """Returns the content of a file that tells whether it is whole, and what wrote it."""
    return f"{mark} {size}\n".encode() + b"x" * size


def read_mark(content):
    """Returns the mark of a whole content; None if the content is not whole."""
    head, end, rest = content.partition(b"\n")
    mark, _, size = head.decode(errors="replace").rpartition(" ")
    return mark if end and size.isdigit() and len(rest) == int(size) else None


def find_whole(files):
    """Returns the checkpoints of which all files are whole and written by one save.

    Args:
        files: name → content.

    Returns:
        step → the mark of its save.
    """
    marks, endings = {}, {}
    for name, content in files.items():
        match = CHECKPOINT.fullmatch(name)
        if match:
            step = int(match[1])
            endings.setdefault(step, set()).add(match[2])
            marks.setdefault(step, set()).add(read_mark(content))
    whole = {}
    for step, found in endings.items():
        shards = [ending for ending in found if ending != "index"]
        num = int(shards[0].rpartition("-")[2]) if shards else 0
        if "index" in found and num == len(shards) > 0 and len(marks[step]) == 1:
            mark = marks[step].pop()
            if mark is not None:
                whole[step] = mark
    return whole


def read_steps(state):
    """Returns the steps that a state file names, the newest first, each once."""
    found = re.findall(r'model_checkpoint_paths?: *"[^"]*model\.ckpt-(\d+)"', state)
    return list(dict.fromkeys(map(int, found)))


def read_folder(folder):
    names = [*folder.glob("model.ckpt-*"), *folder.glob(STATE)]
    return {path.name: path.read_bytes() for path in names}


class Plan(NamedTuple):
    """What a job writes."""

    target: int = 60
    every: int = 10
    num_shards: int = 1
    num_kept: int = 2
    size: int = 100
    step_secs: float = 1.0
    exports: bool = True
    grace: bool = True
    beside: bool = False


class Saver:
    """Writes the files of a job as TensorFlow writes them, and resumes from them.

    Args:
        process: the Process.
        plan: what it writes.
        folder: the job_dir; None until it is known.
    """

    def __init__(self, process, plan, folder=None):
        self.process, self.plan = process, plan
        self.world, self.machine = process.world, process.machine
        self.folder: Optional[Path] = folder
        self.kept = []
        self.saved = -1

    def log(self, line):
        self.world.note(f"{self.process.name}: {line}")

    def read_newest(self):
        """Returns the step of the newest checkpoint, 0 without one; it must be whole."""
        files = read_folder(self.folder)
        steps = read_steps(files.get(STATE, b"").decode())
        if not steps:
            return 0
        whole = find_whole(files)
        if steps[0] not in whole:
            self.world.fail(f"{self.process.name} restores step {steps[0]}, which is not whole")
        self.kept = sorted(step for step in steps if step in whole)
        self.mark = whole.get(steps[0])
        return steps[0]

    def resume(self):
        """Returns the step of the newest whole checkpoint; renames those that are not whole."""
        files = read_folder(self.folder)
        whole = find_whole(files)
        steps = read_steps(files.get(STATE, b"").decode(errors="replace"))
        stems = {int(match[1]) for match in map(CHECKPOINT.fullmatch, files) if match}
        kept = sorted(stems if not steps else {step for step in stems if step <= steps[0]})
        if steps and steps[0] in whole:
            kept = [step for step in kept if step in steps]
        else:
            intact = [step for step in kept if step in whole]
            if kept and not intact and not self._is_first_save(kept):
                raise UserError("none of the checkpoints can be read")
            for step in [step for step in kept if not intact or step > intact[-1]]:
                self.log(f"checkpoint {step} is corrupt")
                for path in list(self.folder.glob(f"model.ckpt-{step}.*")):
                    path.rename(path.with_name("torn-" + path.name))
            if intact:
                storage.write_text(self.folder / STATE, self._state_text(intact[-2:]))
            kept = intact[-2:]
        self.kept = kept
        if not kept:
            return 0
        self.mark = whole[kept[-1]]
        return kept[-1]

    def _is_first_save(self, kept):
        """Like the check of model_files.checkpoints: TensorFlow writes the graph last."""
        graph = self.folder / f"model.ckpt-{kept[-1]}.meta"
        return len(kept) == 1 and not (self.folder / STATE).exists() and not graph.exists()

    def _state_text(self, steps):
        paths = [f"{self.folder}/model.ckpt-{step}" for step in steps]
        lines = [f'model_checkpoint_path: "{paths[-1]}"']
        return "\n".join([*lines, *(f'all_model_checkpoint_paths: "{p}"' for p in paths), ""])

    def write(self, name, content):
        self.world.wait(self.world.random.random() * 0.1)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        half = content[: len(content) // 2]
        is_checkpoint = bool(CHECKPOINT.fullmatch(name)) or name.startswith(durable.BESIDE)
        # TensorFlow writes the data of a checkpoint beside it, and the index in place.
        target = path.with_name(f"{name}.tempstate1") if ".data-" in name else path
        target.write_bytes(half if is_checkpoint else content)
        self.machine.note_written(target)
        self.machine.stamp(target)
        if self.machine.is_full:
            target.write_bytes(half)
            raise OSError(errno.ENOSPC, "No space left on device")
        if is_checkpoint:
            self.world.wait(self.world.random.random() * 0.2)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            self.machine.stamp(target)
            target.replace(path)

    def save(self, step):
        is_again = step in self.kept
        mark = self.mark if is_again else f"{self.process.name}-{step}"
        num = self.plan.num_shards
        # Like `patches/resuming.py`: the files of a checkpoint are replaced by complete ones.
        place = f"{durable.BESIDE}0.tmp" if is_again else f"model.ckpt-{step}"
        parts = {f"data-{n:05d}-of-{num:05d}": self.plan.size + n for n in range(num)}
        parts["index"] = 20
        for part, size in parts.items():
            self.write(f"{place}.{part}", make_content(mark, size))
        if is_again:
            durable.sync_checkpoint(f"{self.folder}/{place}")
            for part in parts:
                self.world.wait(self.world.random.random() * 0.01)
                (self.folder / f"{place}.{part}").replace(self.folder / f"model.ckpt-{step}.{part}")
        self.kept = [one for one in self.kept if one != step] + [step]
        durable.sync_checkpoint(f"{self.folder}/model.ckpt-{step}")
        removed, self.kept = self.kept[: -self.plan.num_kept], self.kept[-self.plan.num_kept :]
        temporary = f"{STATE}.tmp{self.process.pid}"
        self.write(temporary, self._state_text(self.kept).encode())
        durable.rename_state(f"{self.folder}/{temporary}", f"{self.folder}/{STATE}")
        self.saved, self.mark = step, mark
        self.log(f"saved step {step}")
        for old in removed:
            for path in sorted(self.folder.glob(f"model.ckpt-{old}.*")):
                self.world.wait(self.world.random.random() * 0.01)
                path.unlink(missing_ok=True)
        self.write(f"model.ckpt-{step}.meta", make_content(self.process.name, 10))

    def export(self, step):
        # Like trainer.export.graph_reuse: each process has temporary names of its own.
        base, own = self.folder / "export/best", self.process.pid
        for name in ("variables/variables.index", "variables/variables.data", "saved_model.pb"):
            place = f"export/best/temp-{own}/{name}"
            self.write(place, make_content(f"{self.process.name}-{step}", 10))
        durable.sync_folder(f"{base}/temp-{own}")
        best = {"metric": "loss", "direction": "min", "value": 1.0, "step": step}
        self.write(f"export/best/.best-{own}.tmp", json.dumps(best).encode())
        durable.sync_files([f"{base}/.best-{own}.tmp"])
        # A program that cleans up may have removed them meanwhile.
        with contextlib.suppress(FileNotFoundError):
            stamp = int(self.world.now)
            while True:
                try:
                    (base / f"temp-{own}").rename(base / str(stamp))
                    break
                except OSError as error:
                    if error.errno != errno.ENOTEMPTY:
                        raise
                    stamp += 1
            (base / f".best-{own}.tmp").replace(base / "best.json")
        for old in sorted(base.glob("1*"))[:-1]:
            shutil.rmtree(old)


class Trainer(Saver):
    """The main thread of a process that trains alone.

    Args:
        process: the Process.
        plan: what it writes.
        on_start: called with the step from which it resumes.
    """

    def __init__(self, process, plan, on_start):
        super().__init__(process, plan)
        self._on_start = on_start
        self._writing, self._error = None, None

    def main(self):
        process = self.process
        settings = Settings(cache_dir=str(self.machine.root / "cache"))
        try:
            with open_workspace(ADDRESS, settings, ALONE, Lines(self.log)) as workspace:
                self.folder = Path(workspace.folder)
                try:
                    self._train(workspace)
                finally:
                    # Like trainer.evaluation: the error that has ended training counts.
                    with contextlib.suppress(Exception):
                        self._wait_until_saved()
            status = 0
        except Interrupted:
            status = 143
        except UserError as error:
            process.error, status = error, 2
        except OSError as error:
            process.error = error
            status = 2 if error.errno == errno.ENOSPC else 1
        process.exit(status)

    def _train(self, workspace):
        step = self.resume()
        workspace.check_restored()
        self._on_start(step)
        log = MetricsLog(str(self.folder))
        log.resume_from(step)
        if any(line["step"] > step for line in log.read("train")):
            self.world.fail(f"{self.process.name}: records of steps after {step} still count")
        self.write("config.yaml", make_content(self.process.name, 40))
        self._save(step)
        while step < self.plan.target:
            self._work(step)
            step += self.plan.every
            self._save(step)
            self._append(log, step)
            self.write("eval/events.out.tfevents.1", make_content(self.process.name, 20 + step))
            if self.plan.exports:
                self._wait_until_saved()
                self.export(step)
        self._wait_until_saved()
        self.write("metrics.json", make_content(self.process.name, 30))

    def _save(self, step):
        """Saves a checkpoint; a plan may do so beside training, like estimator_bridge."""
        self._wait_until_saved()
        if not self.plan.beside:
            self.save(step)
            return
        self._writing = kernel.Thread(self._save_beside, "checkpoint", (step,))
        self._writing.start()

    def _save_beside(self, step):
        try:
            self.save(step)
        except Exception as error:
            self._error = error

    def _wait_until_saved(self):
        if self._writing is not None:
            self._writing.join()
            self._writing = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _work(self, step):
        for _ in range(self.plan.every):
            self.world.wait(self.plan.step_secs)
            if self.process.signalled:
                # Saves the step, like the trainer's InterruptHook.
                self._wait_until_saved()
                self.save(step + 1)
                raise Interrupted(15)

    def _append(self, log, step):
        if self.machine.is_full:
            with (self.folder / job_layout.METRICS_LOG).open("ab") as stream:
                stream.write(b'{"kind": "tr')
            raise OSError(errno.ENOSPC, "No space left on device")
        log.append("train", step, {"loss": 1.0})
        self.machine.stamp(self.folder / job_layout.METRICS_LOG)
        if not any(line["step"] == step for line in log.read("train")):
            self.world.fail(f"the record of step {step} in metrics.jsonl cannot be read")
