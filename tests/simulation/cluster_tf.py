"""What TensorFlow does in a cluster, as far as the trainer's roles notice: it serves variables,
trains in steps that all processes share, and fails when one of them is gone.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Optional

from estimator_bridge import tf
from simulation import job
from trainer.job_dir.metrics_log import MetricsLog
from trainer.signals import Interrupted

# Seconds until a process notices that another one does not answer.
UNREACHABLE_SECS = 10.0


class Server:
    """The server of one process of a cluster.

    Args:
        process: the Process.

    Attributes:
        step: the global step in its variables; None before they are initialised.
    """

    def __init__(self, process):
        self.process = process
        self.step: Optional[int] = None

    def call(self, caller):
        """Waits for an answer, as long as the process is paused."""
        world = caller.world

        def answers():
            return not self.process.is_alive or self.process.paused_until <= world.now

        while not answers():
            world.wait(5.0, answers)
        if not self.process.is_alive:
            world.wait(world.random.random() * UNREACHABLE_SECS)
            raise tf.errors.UnavailableError(None, None, f"{self.process.name} is gone")


class Session:
    """A session of training without a synchronous strategy; the variables are in the servers."""

    def __init__(self, training, servers):
        self._training, self.servers = training, servers
        process = training.process
        while not all(server.step is not None for server in servers):
            process.world.wait(2.0)

    def run(self, fetches):
        return self._step() if isinstance(fetches, dict) else self.read_step()

    def read_step(self):
        for server in self.servers:
            server.call(self._training.process)
            if server.step is None:
                raise tf.errors.AbortedError(None, None, "variables are not initialised")
        return self.servers[0].step

    def _step(self):
        training = self._training
        training.process.world.wait(
            training.plan.step_secs * training.process.world.random.random()
        )
        before = self.read_step()
        self.servers[0].step += 1
        return before


class Group:
    """Processes that train in step; formed when one of each name has come to the meeting.

    Args:
        members: Training objects.
    """

    def __init__(self, members):
        self.members = members
        self.arrived = {}

    def is_broken(self):
        return not all(member.process.is_alive for member in self.members)


class GroupSession:
    """A session of synchronous training; each process has all variables."""

    def __init__(self, training, meeting, num):
        self._training, self._step_now = training, training.restored
        self.servers = []
        world = training.process.world
        meeting.append(training)
        while training.group is None:
            # Addresses lead to the newest process of each name.
            newest = training.role.story.newest
            present = [one for one in meeting if newest[one.process.name] is one.process]
            if len(present) == num and all(one.process.is_alive for one in present):
                group = Group(present)
                for one in group.members:
                    one.group = group
                meeting.clear()
                steps = {one.process.name: one.restored for one in group.members}
                if len(set(steps.values())) > 1:
                    world.fail(f"processes in step have restored different steps: {steps}")
                break
            world.wait(2.0, lambda: training.group is not None)

    def run(self, fetches):
        return self._step() if isinstance(fetches, dict) else self._step_now

    def _step(self):
        training, group = self._training, self._training.group
        world = training.process.world
        world.wait(training.plan.step_secs * world.random.random())
        before, self._step_now = self._step_now, self._step_now + 1
        group.arrived[training.process.name] = self._step_now

        def is_complete():
            names = [one.process.name for one in group.members]
            return all(group.arrived.get(name, -1) >= self._step_now for name in names)

        while not is_complete():
            world.wait(UNREACHABLE_SECS, lambda: is_complete() or group.is_broken())
            if group.is_broken() and not is_complete():
                # Some steps never end after that, and only the trainer can notice it.
                hangs = world.random.random() < 0.2
                world.wait(5_000.0 if hangs else world.random.random() * UNREACHABLE_SECS)
                raise tf.errors.UnavailableError(None, None, "a process of the step is gone")
        return before


class TrainSpec(NamedTuple):
    input_fn: Any
    hooks: tuple
    max_steps: Optional[int]
    saving_listeners: tuple = ()


class Training:
    """The Estimator of one process.

    Args:
        role: the Role.
        cluster: the cluster, and which process of it this is.
        folder: where checkpoints are.
        max_steps: the last step.
        is_synchronous: whether all processes train in step.
        monitor: ends training early.
    """

    def __init__(self, role, cluster, folder, *, max_steps, is_synchronous, monitor):
        self.role, self.process, self.plan = role, role.process, role.story.plan
        self.config, self.model_dir = SimpleNamespace(session_config=None), str(folder)
        self._cluster, self._folder = cluster, Path(folder)
        self._max_steps, self._is_synchronous = max_steps, is_synchronous
        self._monitor = monitor
        self._saver = job.Saver(role.process, role.story.plan, self._folder)
        self._log = MetricsLog(folder)
        self.is_chief = cluster.role == "chief"
        self.restored = 0
        self.group = None

    def train(self, input_fn, hooks, max_steps, saving_listeners=None):
        """Trains until a hook, the last step or an early stop ends it."""
        for hook in hooks:
            hook.begin()
        watch = self.role.watch
        while True:
            try:
                session = self._open(hooks)
                watch.in_session = True
                self._loop(session, hooks, max_steps)
                if self.is_chief:
                    step = session.run(None)
                    self._save(step, session)
                    self.role.story.note_trained(self.role, step)
                break
            except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
                self.role.log(f"session lost: {error.message}")
        watch.in_session = False

    def _open(self, hooks):
        story = self.role.story
        if self._is_synchronous and self._cluster.is_distributed:
            self.restored = self._restore()
            session = GroupSession(self, story.meeting, len(self._cluster.names))
        else:
            servers = story.await_servers(self.process, self._cluster)
            if self.is_chief:
                step = self._restore()
                for server in servers:
                    server.step = step
            session = Session(self, servers)
        for hook in hooks:
            hook.after_create_session(session, None)
        if self.is_chief:
            self._saver.saved = -1
            self._save(session.run(None), session)
        return session

    def _restore(self):
        """Reads the newest checkpoint; the trainer has made sure that it is whole."""
        step = self._saver.read_newest()
        if self.is_chief:
            self.role.story.note_restored(self.role, step)
        return step

    def _loop(self, session, hooks, max_steps):
        context = SimpleNamespace(session=session, stops=False)
        context.request_stop = lambda: setattr(context, "stops", True)
        while not context.stops and not (self.is_chief and self._monitor.early_stop.reason):
            if max_steps is not None and session.run(None) >= max_steps:
                return
            for hook in hooks:
                hook.before_run(context)
            before = session.run({"step": None})
            self.role.story.note_step(self.role, before)
            for hook in hooks:
                hook.after_run(context, SimpleNamespace(results=before))
            self._end_if_told(session)
            if self.is_chief:
                step = session.run(None)
                if step - self._saver.saved >= self.plan.every:
                    self._save(step, session)

    def _end_if_told(self, session):
        watch = self.role.watch
        if watch.pending is None:
            return
        step = session.run(None)
        if watch.saves and self.is_chief:
            self._save(step, session)
        watch.in_session = False
        raise Interrupted(watch.pending, step)

    def _save(self, step, session):
        if step == self._saver.saved or not self.role.watch.saves:
            return
        self._saver.save(step)
        self.role.story.note_saved(self.role, step)
        if step:
            self.role.append(self._log, "train", step)
