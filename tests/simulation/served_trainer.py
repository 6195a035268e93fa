"""What a process that trains with parameter servers does, and numbers in place of the model.

Each row has the number of its updates, and the number of the setting of all variables.
"""

import numpy as np

from simulation.kernel import current
from trainer.cluster.servers import Servers
from trainer.models.fused import service
from trainer.models.fused.sharing import SharedVariables

# What a row has; an update has its number in the last place.
COUNT, MARK, NUMBER = range(3)
NUM_ROWS = 7
# Seconds between two looks at the heartbeats, and until a new status is seen.
LOOK_SECS = 1.0
# The exit status of a process that ends because of another.
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
        self._world.story.steps[int(self._whole[MARK]), self._number] = step

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
        story.steps[mark, self._number] = self.step
        self._whole[COUNT] += 1
        self._table[touched, COUNT] += 1
        self._world.wait()
        return self.pull(reads_whole, ids)

    def list_wrong(self):
        return []


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
                self._train()
                if self._is_chief:
                    self._save()
                break
            except ConnectionError as error:
                if not self._is_chief and self.story.is_over():
                    break
                self.world.note(f"{self.process.name}: {error}")
                self.note_cut()
                self._servers.connect()
        if self._is_chief:
            self.story.finish(self._step)
        self.process.exit(0)

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
