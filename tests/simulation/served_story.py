"""One schedule of a cluster whose parameter servers hold the variables of a fused model.

The connections, the messages, the service and the client are the trainer's own. In place of the
model there are numbers: how many updates a row has had, and of which setting of all variables.
"""

from unittest import mock

import numpy as np

from simulation.kernel import Process, World, current
from simulation.network import Network, connected
from simulation.seams import installed
from trainer import config as config_lib
from trainer.cluster.clients import Clients
from trainer.cluster.servers import Servers
from trainer.environment.cluster_spec import Cluster
from trainer.models.fused import service
from trainer.models.fused.sharing import ROWS, WHOLE, Shared, SharedVariables, Sharing
from trainer.models.fused.updates import DEEP_PART

CHAOS_SECS, END_SECS = 15.0, 200.0
# Seconds between two looks at the heartbeats, and until a new status is seen.
LOOK_SECS = 1.0
# What a row has: the number of its updates, and the setting of the variables. Updates are numbered.
COUNT, MARK, NUMBER = range(3)
NUM_ROWS = 7
LOST = 75


class Model:
    """Takes the place of the variables of a server; checks each update.

    Args:
        sharing: what all servers serve.
        number: of this server.
        count: number of servers.
        session_config: unused.
    """

    def __init__(self, sharing, number, count, session_config):
        self._number, self._max_steps = number, sharing.max_steps
        self._world, self._name = current().world, current().process.name
        self.tables, self.step = sharing.tables, 0
        homes = sharing.find_homes(count)
        (own,) = (name for name, home in homes.items() if home == number)
        num_rows = len(range(number, NUM_ROWS, count))
        self._values = {
            own: np.zeros(3, np.float32),
            "table": np.zeros((num_rows, 3), np.float32),
            "power": np.zeros((1, 3), np.float32),
        }
        self._whole, self._table = self._values[own], self._values["table"]
        self.variables = {name: self._make(value) for name, value in self._values.items()}

    @staticmethod
    def _make(value):
        def write(given):
            value[:] = given

        return service._Variable(np.float32, list(value.shape), write, value.copy)

    def start(self, step):
        self.step = step
        self._world.story.steps[self._number] = step

    def pull(self, reads_whole, ids):
        if not reads_whole:
            return [np.empty(0, np.float32)] * 2
        return [self._whole.copy(), self._table[ids[0]]]

    def push(self, grads, reads_whole, ids):
        self._world.wait()
        story, (flat, touched, rows) = self._world.story, grads
        update, mark = int(flat[NUMBER]), int(flat[MARK])
        marks = {mark, *map(int, rows[:, MARK]), int(self._whole[MARK])}
        marks |= set(map(int, self._table[touched, MARK]))
        if len(marks) > 1:
            self._world.fail(f"{self._name} applies an update to another setting: {marks}")
        applied = story.applied.setdefault((mark, self._number), set())
        if update in applied:
            self._world.fail(f"{self._name} applies update {update} twice")
        if self.step >= self._max_steps:
            self._world.fail(f"{self._name} applies an update after the last step")
        applied.add(update)
        self.step += 1
        story.steps[self._number] = self.step
        self._whole[COUNT] += 1
        self._table[touched, COUNT] += 1
        self._world.wait()
        return self.pull(reads_whole, ids)

    def list_wrong(self):
        return []


class Machine:
    """What a process runs on."""

    is_full = False

    def release_locks(self, process):
        pass


class Trainer:
    """The main thread of a process that trains.

    Args:
        story: the Story.
        process: the Process.
        cluster: the cluster, and which process of it this is.
    """

    def __init__(self, story, process, cluster):
        self.story, self.process, self.world = story, process, process.world
        self._number = cluster.trainer_id
        self._is_chief = cluster.role == "chief"
        self._servers = Servers(cluster)
        self._servers.find_by(story.find, lambda: not self._is_chief and story.is_over())
        self._variables = SharedVariables(self._servers, story.sharing)
        self._mark = self._step = self._saved = 0
        self._pushed = None

    def main(self):
        self._servers.connect()
        while True:
            try:
                self._prepare()
            except ConnectionError:
                return self._leave()
            try:
                self._train()
                break
            except ConnectionError as error:
                self.world.note(f"{self.process.name}: {error}")
                self.note_cut()
                self._servers.connect()
        if self._is_chief:
            try:
                self._save()
            except ConnectionError:
                return self._leave()
            self.story.finish(self._step)
        self.process.exit(0)

    def _leave(self):
        is_left = not self._is_chief and self.story.is_over()
        self.process.exit(0 if is_left else LOST)

    def note_cut(self):
        """The process has lost a connection or ends: an update may be on some servers only."""
        if self._pushed is not None:
            self.story.cut.add(self._pushed)
            self._pushed = None

    def _prepare(self):
        if not self._is_chief:
            self._step = self._variables.read_step()
            return
        self._step, values = self.story.saved
        self._saved, self._mark = self._step, self.story.add_mark()
        for name, value in values.items():
            value = value.copy()
            value[..., MARK] = self._mark
            self._variables.set(name, value)
        self.world.note(f"{self.process.name} has set step {self._step}, mark {self._mark}")
        self._variables.start(self._step)

    def _train(self):
        story = self.story
        while self._step < story.sharing.max_steps or not self._is_chief:
            self._run()
            if self._is_chief:
                if story.sharing.max_steps > self._step >= self._saved + story.every:
                    self._save()
                continue
            while self._step >= story.sharing.max_steps and not story.is_over():
                self.world.wait(LOOK_SECS)
                self._step = self._variables.read_step()
            if story.is_over():
                return

    def _choose_rows(self):
        num = self.story.draw.randint(0, 4)
        return np.array(sorted(self.story.draw.sample(range(NUM_ROWS), num)), np.int32)

    def _run(self):
        """One run of the session, of several steps."""
        num_steps, ids = self.story.draw.choice((1, 2, 4)), self._choose_rows()
        pulled = self._variables.pull([ids])
        for number in range(num_steps):
            if number and pulled.step >= self.story.sharing.max_steps:
                break
            mark = self._check(pulled, ids)
            self.world.wait(self.story.draw.random() * self.story.step_secs)
            following = self._choose_rows()
            pulled = self._push(mark, ids, following, number + 1 == num_steps)
            ids = following
        self._step = pulled.step

    def _check(self, pulled, ids):
        """Returns which setting of the variables has been read; they must be of one."""
        whole = pulled.whole.reshape(-1, 3)
        marks = {*map(int, whole[:, MARK]), *map(int, pulled.rows[0][:, MARK])}
        if len(marks) > 1 or len(pulled.rows[0]) != len(ids):
            self.world.fail(f"{self.process.name} reads values of several settings: {marks}")
        return marks.pop()

    def _push(self, mark, ids, following, is_last):
        update = self._pushed = self.story.add_update()
        grad = [1, mark, update]
        flat = np.array(grad * len(self.story.sharing.others), np.float32)
        rows = np.array([grad] * len(ids), np.float32).reshape(-1, 3)
        before = self._servers.num_steps
        pulled = self._variables.push(flat, [ids], [rows], None if is_last else [following])
        self._pushed = None
        num = self._servers.num_steps - before
        on_first = update in self.story.applied.get((mark, 0), ())
        if num not in (0, on_first):
            self.world.fail(f"{self.process.name} counts {num} steps for update {update}")
        if mark != self.story.mark:
            # While the chief sets the variables, some servers refuse it.
            self.story.cut.add(update)
        return pulled

    def _save(self):
        """Saves a checkpoint, of which the process has read one variable after another."""
        story, names = self.story, list(self.story.shapes)
        values = {
            name: self._variables.get(name, np.float32).reshape(story.shapes[name])
            for name in names
        }
        marks = {int(mark) for value in values.values() for mark in value[..., MARK].reshape(-1)}
        if marks != {self._mark}:
            self.world.fail(f"a checkpoint has values of the settings {marks}, not {self._mark}")
        for number, name in enumerate(one.name for one in story.sharing.others):
            had = values[name][COUNT]
            num_cut = len(story.cut) + story.num_workers
            if had < self._step - num_cut or not story.num_workers and had != self._step:
                self.world.fail(f"a checkpoint of step {self._step} has {had} updates of {number}")
        self.world.wait(story.draw.random() * 0.5)
        story.saved = (self._step, values)
        self._saved = self._step
        self.world.note(f"{self.process.name} has saved step {self._step}")


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
        self.steps = {}  # server -> its step
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
            if known - updates and self.steps[server] < step:
                self.world.fail(f"ps-{server} lacks the updates {sorted(known - updates)}")
            if (
                step - len(self.cut) - self.num_workers > self.steps[server]
                or self.steps[server] > step
            ):
                self.world.fail(f"ps-{server} is at step {self.steps[server]} of {step}")

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
