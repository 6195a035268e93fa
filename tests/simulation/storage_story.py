"""One schedule of storage: the faults and restarts that the seed draws, and what must hold."""

import tempfile
from pathlib import Path

from simulation import job
from simulation.kernel import Process, World
from simulation.machine import Machine
from simulation.seams import installed
from simulation.service import Service
from trainer import job_layout, storage
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE
from trainer.errors import UserError
from trainer.storage import copies, data
from trainer.storage.workspace import open_workspace

# A run of a job that ends by itself is shorter.
RUN_SECS = 4_000.0
CHAOS_SECS = 400.0
# From this seed on, checkpoints are written beside training. Older seeds keep their meaning.
BESIDE_FROM = 7_000


class Story:
    """A schedule.

    Args:
        seed: determines everything.
        root: an empty folder.
        keeps_trace: whether to keep what happens.
    """

    def __init__(self, seed, root, keeps_trace=False):
        self.world = World(seed, keeps_trace)
        self.root = root
        self.draw = self.world.random
        self.service = Service(self.world, self.on_change)
        self.machines = []
        self.trainers = {}
        self.started = {}
        self.claims, self.claimed_at = [], 0.0
        self.finished = None  # (name of the process, when)
        draw = self.draw
        self.plan = job.Plan(
            target=draw.choice((20, 40, 60)),
            every=10,
            num_shards=draw.choice((1, 1, 2)),
            num_kept=draw.choice((1, 2, 3)),
            size=draw.choice((100, 100, 100, 700_000)),
            step_secs=draw.choice((0.05, 0.3, 1.0, 3.0)),
            exports=draw.random() < 0.5,
            beside=seed >= BESIDE_FROM,
        )
        self.service.error_rate = draw.choice((0.0, 0.02, 0.1, 0.3))
        self.service.slow_rate = draw.choice((0.0, 0.02, 0.2))
        if draw.random() < 0.3:
            self.service.page = draw.choice((2, 5))

    def run(self):
        """Returns the violated invariant; None if there is none."""
        job.Settings.client = self.service.make_client()
        director = Machine(self.world, "director", self.root / "director")
        self.director = Process(self.world, director, "director")
        self.world.spawn(self.director, self._direct, "main")
        return self.world.run()

    # What happens.

    def add_machine(self):
        name = f"machine-{len(self.machines)}"
        machine = Machine(self.world, name, self.root / name)
        self.machines.append(machine)
        return self.machines[-1]

    def _choose_machine(self):
        if not self.machines or len(self.machines) < 3 and self.draw.random() < 0.4:
            return self.add_machine()
        return self.draw.choice(self.machines)

    def start(self, machine):
        process = Process(self.world, machine, f"process-{self.world.num_processes}")
        machine.processes.append(process)
        trainer = job.Trainer(process, self.plan, lambda step: self._check_resumed(trainer, step))
        trainer.began, trainer.stored = self.world.now, self.stored_step()
        trainer.changed_by = set()
        trainer.is_robbed = False
        self.trainers[process.name] = trainer
        process.on_end = self._note_end
        self.world.note(f"{process.name} starts on {machine.name}")
        self.world.spawn(process, trainer.main, "main")
        return process

    def _direct(self):
        world, draw = self.world, self.draw
        self.start(self._choose_machine())
        end = world.now + CHAOS_SECS
        actions = [self._end_one, self._end_one, self._pause, self._start_another, self._empty]
        actions += [self._fill_disk, self._cut_network, self._read, self._signal]
        actions = draw.sample(actions, draw.randint(1, len(actions)))
        while world.now < end:
            world.wait(draw.random() * draw.choice((1, 20, 120)))
            draw.choice(actions)()
            if not any(one.process.is_alive for one in self.trainers.values()):
                world.wait(draw.random() * 30)
                self.start(self._choose_machine())
        self.service.error_rate, self.service.outages = 0.0, []
        for machine in self.machines:
            machine.is_full = False
        deadline = world.now + RUN_SECS
        while any(one.process.is_alive for one in self.trainers.values()):
            world.wait(20)
            if world.now > deadline:
                world.fail("a process has not ended")
                return
        self._finish()

    def _finish(self):
        """Restarts the job without faults; it must continue from what is stored, and finish."""
        self.world.note("no more faults")
        last = self.start(self._choose_machine())
        while last.is_alive:
            self.world.wait(5)
        if last.status != 0:
            self.world.fail(f"the restarted job ends with status {last.status}: {last.error}")
        elif self.stored_step() < self.plan.target:
            self.world.fail(f"the finished job has stored step {self.stored_step()} only")
        reader = self._read()
        while reader.is_alive:
            self.world.wait(5)

    def _alive(self):
        return [one.process for one in self.trainers.values() if one.process.is_alive]

    def _end_one(self):
        alive = self._alive()
        if alive:
            process = self.draw.choice(alive)
            loses_power = self.draw.random() < 0.3
            act = process.machine.lose_power if loses_power else process.kill
            process.fuse = (self.draw.randrange(12), act)

    def _signal(self):
        for process in self._alive():
            process.signalled = True

    def _pause(self):
        alive = self._alive()
        if alive:
            process = self.draw.choice(alive)

            def pause():
                secs = self.draw.choice((5, 60, 500))
                self.world.note(f"{process.name} is paused for {secs} s")
                process.paused_until = self.world.now + secs

            process.fuse = (self.draw.randrange(12), pause)

    def _start_another(self):
        if len(self._alive()) < 3:
            busy = {process.machine for process in self._alive()}
            machine = self._choose_machine()
            self.start(self.add_machine() if machine in busy and len(busy) < 4 else machine)

    def _empty(self):
        folders = [one.folder for one in self.trainers.values() if one.folder]
        if folders:
            share = self.draw.choice((0.3, 0.7, 1.0))
            folder = self.draw.choice(folders)
            machine = next(one for one in self.machines if one.root in folder.parents)
            machine.empty(folder, share)
            for trainer in self.trainers.values():
                trainer.is_robbed |= trainer.machine is machine
            if self.draw.random() < 0.3 and not any(p.machine is machine for p in self._alive()):
                machine.empty(folder.parent, 1.0)

    def _fill_disk(self):
        if self.machines:
            machine = self.draw.choice(self.machines)
            machine.is_full = True
            self.world.note(f"the disk of {machine.name} is full")

            def clear():
                machine.is_full = False

            self.world.call_later(self.draw.choice((0.5, 5, 60)), clear)

    def _cut_network(self):
        secs = self.draw.choice((1, 10, 60, 350))
        self.world.note(f"the network fails for {secs} s")
        self.service.outages.append((self.world.now, self.world.now + secs))

    def _read(self):
        machine = Machine(self.world, "reader", self.root / f"reader-{self.world.num_processes}")
        process = Process(self.world, machine, f"reader-{self.world.num_processes}")
        read = self.draw.choice((self._read_job, self._read_checkpoint))
        self.world.spawn(process, lambda: read(process), "main")
        return process

    def _read_job(self, process):
        settings = job.Settings(cache_dir=str(process.machine.root))
        try:
            with open_workspace(
                job.ADDRESS, settings, ALONE, Console(quiet=True), stores=False
            ) as workspace:
                files = job.read_folder(Path(workspace.folder))
                self._check_read(process, files)
        except UserError as error:
            process.error = error
        process.exit(0)

    def _read_checkpoint(self, process):
        if job.STATE in self._files():
            settings = job.Settings(cache_dir=str(process.machine.root))
            try:
                with data_settings(settings):
                    path = Path(copies.fetch_checkpoint(job.ADDRESS, "--checkpoint"))
                files = {one.name: one.read_bytes() for one in path.parent.glob(f"{path.name}.*")}
                # A job that takes the folder over may have removed the state file since.
                _, has_step, step = path.name.rpartition("-")
                if has_step and int(step) not in job.find_whole(files):
                    self.world.fail(f"a reader got {path.name} with {sorted(files)} only")
            except UserError as error:
                process.error = error
        process.exit(0)

    # What must hold.

    def _files(self):
        start = f"{job.JOB}/"
        return {
            name[len(start) :]: one.content
            for name, one in self.service.objects.items()
            if name.startswith(start)
        }

    def stored_step(self):
        one = self.service.objects.get(f"{job.JOB}/{job.STATE}")
        return max(job.read_steps(one.content.decode())[:1], default=0) if one else 0

    def on_change(self, writer, name, before, now):
        short = name[len(job.JOB) + 1 :]
        if short == job_layout.WRITER and now is None:
            return
        if short == job_layout.WRITER:
            if self.claims and self.service.noted.get(writer, 0.0) < self.claimed_at:
                self.world.fail(
                    f"{writer} has a claim, although {self.claims[-1]} has made one since"
                )
            self.claims.append(writer)
            self.claimed_at = self.world.now
            return
        self._check_claim(writer, short, before, now)
        files = self._files()
        if short == job.STATE and now is None and before.writer == writer:
            self.world.fail(f"{writer} removes the state file of the job")
        if short == job.STATE or job.CHECKPOINT.fullmatch(short):
            self._check_pointer(writer, short, files)
        elif short not in job_layout.MODEL_FILES and now is not None:
            self._check_order(writer, short, files)
        self._check_exports(writer, files)
        for trainer in self.trainers.values():
            trainer.changed_by.add(writer)

    def _check_pointer(self, writer, name, files):
        whole = job.find_whole(files)
        named = job.read_steps(files.get(job.STATE, b"").decode())
        missing = [step for step in named if step not in whole]
        if missing:
            self.world.fail(
                f"{writer} has changed {name}; the stored state file names steps {named}, of which "
                f"{missing} are incomplete"
            )

    def _check_order(self, writer, name, files):
        """No other file is stored between a checkpoint and the state file that names it."""
        trainer = self.trainers.get(writer)
        if trainer is None or trainer.folder is None or name.endswith(".meta"):
            return
        if self.claims and self.claims[-1] != writer:
            # The job with the claim may have removed the state file since the request was sent.
            return
        try:
            text = (trainer.folder / job.STATE).read_text()
        except FileNotFoundError:
            return
        named = job.read_steps(text)
        stored = job.read_steps(files.get(job.STATE, b"").decode())
        whole = job.find_whole(files)
        is_newer = bool(named) and named[0] in whole and (not stored or named[0] > stored[0])
        if is_newer and whole[named[0]].startswith(f"{writer}-"):
            self.world.fail(
                f"{writer} stores {name} before the state file, although the checkpoint of "
                f"step {named[0]} is stored"
            )

    def _check_exports(self, writer, files):
        if any(trainer.is_robbed for trainer in self.trainers.values()):
            return
        marks = {}
        for name, content in files.items():
            match = job.EXPORT.fullmatch(name)
            if match:
                marks.setdefault(match[1], {})[match[2]] = job.read_mark(content)
        for folder, found in marks.items():
            # Of a job that has lost its claim, some files may arrive late.
            mark = found.get("saved_model.pb") or ""
            if mark.startswith(f"{self.claims[-1]}-") and (
                len(found) != 3 or len(set(found.values())) != 1
            ):
                self.world.fail(f"{writer}: the stored export {folder} is incomplete: {found}")

    def _check_claim(self, writer, name, before, now):
        if self.finished is None or before is None or writer == self.finished[0]:
            return
        if now is not None and now.content == before.content:
            # A job that has just claimed the folder gives its objects new generations.
            return
        # What is on its way may still arrive, if nothing names it.
        match = job.CHECKPOINT.fullmatch(name)
        one = self.service.objects.get(f"{job.JOB}/{job.STATE}")
        named = job.read_steps(one.content.decode()) if one else []
        is_needed = name == job.STATE or match and int(match[1]) in named
        if self.claims[-1] == writer or not is_needed:
            return
        if self.service.sent > self.finished[1]:
            self.world.fail(f"{writer} changes {name} of {self.finished[0]}, which has finished")

    def _note_end(self, process):
        if process.status == 0 and process.name in self.trainers:
            if self.claims and self.claims[-1] == process.name:
                self.finished = (process.name, self.world.now)
            is_robbed = self.trainers[process.name].is_robbed
            is_last = not self.claims or self.claims[-1] == process.name
            if self.stored_step() < self.plan.target and not is_robbed and is_last:
                self.world.fail(f"{process.name} has finished and not stored its last step")

    def _check_resumed(self, trainer, step):
        others = trainer.changed_by - {trainer.process.name}
        if step < trainer.stored and not others and not trainer.is_robbed:
            self.world.fail(
                f"{trainer.process.name} resumes from step {step}; step {trainer.stored} was stored"
            )

    def _check_read(self, process, files):
        whole = job.find_whole(files)
        named = job.read_steps(files.get(job.STATE, b"").decode())
        if any(step not in whole for step in named):
            self.world.fail(f"{process.name} has fetched {sorted(files)}, incomplete")


class data_settings:
    """Sets how this process accesses gs:// paths while a `with` statement runs."""

    def __init__(self, settings):
        self._settings = settings

    def __enter__(self):
        self._before = data.current_settings()
        storage.configure(self._settings)

    def __exit__(self, *exception):
        storage.configure(self._before)


def run(seed, keeps_trace=False):
    """Runs a schedule; returns the World, whose `violation` is None if all invariants held."""
    with tempfile.TemporaryDirectory(prefix="sim-", dir=FAST) as folder:
        story = Story(seed, Path(folder), keeps_trace)
        # Readers overlap, so that the last one to end may restore the settings of another.
        with data_settings(data.current_settings()), installed():
            story.run()
        return story.world


# A disk in memory, if there is one.
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
