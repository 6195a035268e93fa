"""One schedule of a cluster whose parameter servers hold the variables of a fused model.

The connections, the messages, the service and the client are the trainer's own.
"""

from unittest import mock

import numpy as np

from simulation.kernel import Process, World
from simulation.network import Network, connected
from simulation.seams import installed
from simulation.served_trainer import LOOK_SECS, LOST, NUM_ROWS, Model, Trainer
from trainer import config as config_lib
from trainer.cluster.clients import Clients
from trainer.environment.cluster_spec import Cluster
from trainer.models.fused import service
from trainer.models.fused.sharing import ROWS, WHOLE, Shared, Sharing
from trainer.models.fused.updates import DEEP_PART

CHAOS_SECS, END_SECS = 15.0, 200.0


class Machine:
    """What a process runs on."""

    is_full = False

    def release_locks(self, process):
        pass


class Story:
    """A schedule.

    Args:
        seed: determines everything.
        keeps_trace: whether to keep what happens.
    """

    def __init__(self, seed, keeps_trace=False):
        self.world = World(seed, keeps_trace)
        self.world.story = self
        self.draw = draw = self.world.random
        self.network = Network(self.world)
        self.num_servers, self.num_workers = draw.choice((1, 2, 2, 3)), draw.choice((0, 1, 1, 2))
        self.every = draw.choice((5, 10, 1000))
        self.step_secs = draw.choice((0.02, 0.2))
        whole = [Shared(f"whole{n}", (3,), DEEP_PART, WHOLE) for n in range(self.num_servers)]
        table = Shared("table", (NUM_ROWS, 3), DEEP_PART, ROWS)
        variables = (table, *whole)
        self.sharing = Sharing(
            variables, {DEEP_PART: "sgd"}, config_lib.TrainConfig(), draw.choice((20, 40))
        )
        # "power" stands for what every server has, such as the powers of Adam.
        self.shapes = {**{one.name: one.shape for one in variables}, "power": (1, 3)}
        self.saved = (0, {name: np.zeros(one, np.float32) for name, one in self.shapes.items()})
        self.mark = self.num_updates = 0
        self.applied = {}  # (mark, server) -> updates
        self.steps = {}  # (mark, server) -> its step
        self.trainers = []
        self.cut = set()  # updates that some servers may lack
        self.spec = {
            "chief": ("127.0.0.1:1",),
            "worker": tuple(f"127.0.0.1:{10 + n}" for n in range(self.num_workers)),
            "ps": tuple(f"127.0.0.1:{20 + n}" for n in range(self.num_servers)),
        }
        self.names = [f"{role}-{n}" for role, them in self.spec.items() for n in range(len(them))]
        self.newest = {}  # name -> (process, when others see that it has started)
        self.statuses = {}
        self.incarnations = {}  # name of a server -> [(when others see it, incarnation)]
        self.over = None
        self.machine = Machine()

    def run(self):
        """Returns the violated invariant; None if there is none."""
        director = Process(self.world, self.machine, "director")
        self.world.spawn(director, self._direct, "main")
        with connected(self.network):
            return self.world.run()

    # What the processes see in job_dir.

    def find(self, name):
        seen = [one for at, one in self.incarnations.get(name, ()) if at <= self.world.now]
        return seen[-1] if seen else None

    def is_over(self):
        return self.over is not None and self.over <= self.world.now

    def add_mark(self):
        self.mark += 1
        return self.mark

    def add_update(self):
        self.num_updates += 1
        return self.num_updates

    def finish(self, step):
        """The chief has saved the last checkpoint."""
        self.over = self.world.now + LOOK_SECS
        if step != self.sharing.max_steps:
            self.world.fail(f"training ends at step {step}")
        applied = [
            self.applied.get((self.mark, server), set()) for server in range(self.num_servers)
        ]
        known = set().union(*applied) - self.cut - {one._pushed for one in self.trainers}
        for server, updates in enumerate(applied):
            # At the last step, a server refuses those that come later to it than to others.
            if known - updates and self.steps[self.mark, server] < step:
                self.world.fail(f"ps-{server} lacks the updates {sorted(known - updates)}")
            if (
                step - len(self.cut) - self.num_workers > self.steps[self.mark, server]
                or self.steps[self.mark, server] > step
            ):
                self.world.fail(f"ps-{server} is at step {self.steps[self.mark, server]} of {step}")

    # The processes.

    def _start(self, name):
        process = Process(self.world, self.machine, name)
        role, _, index = name.partition("-")
        cluster = Cluster(self.spec, role, int(index))
        self.newest[name] = (process, self.world.now + self.draw.random() * LOOK_SECS)
        process.is_silent, process.trainer = False, None
        process.on_end = self._follow
        self.world.note(f"{name} starts")
        if role == "ps":
            self.world.spawn(process, lambda: self._serve(process, cluster), "main")
        else:
            process.trainer = Trainer(self, process, cluster)
            self.trainers.append(process.trainer)
            self.world.spawn(process, process.trainer.main, "main")
        self.world.spawn(process, lambda: self._watch(process), "heartbeat")

    def _serve(self, process, cluster):
        self.world.wait(self.draw.random())
        incarnation = f"incarnation {self.world.num_processes}"
        clients = process.clients = Clients(cluster, incarnation)
        seen = self.incarnations.setdefault(process.name, [])
        self.world.call_later(
            self.draw.random(),
            # What a process that has been replaced says no longer counts.
            lambda: (
                self.newest[process.name][0] is process
                and seen.append((self.world.now, incarnation))
            ),
        )
        clients.run(service.ParameterService(cluster.index, self.num_servers, None))
        process.exit(0)

    def _watch(self, process):
        """The watchdog of a process, and the end of a server."""
        while True:
            self.world.wait(LOOK_SECS)
            newest, at = self.newest[process.name]
            if newest is not process and at <= self.world.now:
                process.exit(LOST)
                self.world.wait()
            if process.name.startswith("ps-") and self.is_over():
                self.world.wait(2 * LOOK_SECS)
                process.clients.end()
                return
            if process.name == "chief-0" and self.over is not None:
                return

    def _follow(self, process):
        self.network.leave(process, process.is_silent)
        if process.trainer is not None:
            process.trainer.note_cut()
        if process.status == 0:
            self.statuses[process.name] = 0
            if process.name.startswith("worker-") and self.over is None:
                self.world.fail(f"{process.name} ends before the chief")
        elif self.newest[process.name][0] is process:
            name = process.name
            self.world.call_later(
                0.2 + 3 * self.draw.random(),
                lambda: self.newest[name][0] is process and self._start(name),
            )

    # What happens.

    def _direct(self):
        world, draw = self.world, self.draw
        for name in draw.sample(self.names, len(self.names)):
            world.wait(draw.random() * draw.choice((0.0, 1.0)))
            self._start(name)
        actions = [self._kill, self._kill, self._pause, self._cut, self._lose_power]
        actions = draw.sample(actions, draw.randint(0, len(actions)))
        end = world.now + draw.choice((3, CHAOS_SECS))
        while actions and world.now < end:
            world.wait(draw.random() * draw.choice((0.3, 3)))
            draw.choice(actions)()
        world.note("no more faults")
        deadline = world.now + END_SECS
        while len(self.statuses) < len(self.names):
            world.wait(5)
            if world.now > deadline:
                late = sorted(set(self.names) - set(self.statuses))
                world.fail(f"these have not ended: {late}")
                world.wait()
        for name, (process, _) in self.newest.items():
            if process.status != 0:
                world.fail(f"{name} runs on")

    def _choose(self):
        alive = [one for one, _ in self.newest.values() if one.is_alive]
        return self.draw.choice(alive) if alive and self.over is None else None

    def _kill(self):
        one = self._choose()
        if one is not None:
            one.fuse = (self.draw.randrange(40), one.kill)

    def _lose_power(self):
        """A machine ends, and nobody closes its connections."""
        one = self._choose()
        if one is not None:
            one.is_silent = True
            one.fuse = (self.draw.randrange(40), one.kill)

    def _cut(self):
        self.network.cut()

    def _pause(self):
        """A process is suspended; it may wake up after its successor has started elsewhere."""
        one, draw = self._choose(), self.draw
        if one is None:
            return

        def pause():
            one.paused_until = self.world.now + draw.choice((0.5, 4.0, 10.0))
            self.world.note(f"{one.name} is paused until {one.paused_until - 1_000_000:.3f}")
            if one.name != "chief-0" and draw.random() < 0.7:
                self.world.call_later(draw.random() * 3, replace)

        def replace():
            if self.newest[one.name][0] is one and one.is_alive and self.over is None:
                self._start(one.name)

        one.fuse = (draw.randrange(40), pause)


def run(seed, keeps_trace=False):
    """Runs a schedule; returns the World, whose `violation` is None if all invariants held."""
    with mock.patch.object(service, "_Model", Model), installed():
        story = Story(seed, keeps_trace)
        story.run()
        return story.world
