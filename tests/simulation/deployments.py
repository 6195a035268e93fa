"""What starts the processes of a cluster and starts them again: the launcher, or a service."""

import io
import signal

from simulation.kernel import Process, current
from trainer.cluster import launcher
from trainer.environment.variables import make_environment

# How long a service waits for a machine that does not answer, before it replaces its processes.
PARTITION_SECS = 30.0
ORPHAN_SECS = 120.0


class Launched:
    """All processes on one machine, under trainer.cluster.launcher.

    Args:
        story: the Story.
    """

    def __init__(self, story):
        self._story = story
        self.process = None

    def start(self):
        story = self._story
        self.process = Process(
            story.world, story.machines[0], f"launcher-{story.world.num_processes}"
        )
        self.process.machine.processes.append(self.process)
        self.process.children = {}
        self.process.on_end = self._end_children
        story.world.spawn(self.process, self._run, "main")

    def _run(self):
        story = self._story
        plan = launcher.Plan(
            story.num_workers, story.num_ps, story.num_evaluators, story.max_restarts, []
        )
        process = current().process
        running = launcher.Launcher(plan, io.StringIO(), io.StringIO())
        process.on_signal = lambda number: running.stop()
        process.exit(running.run())

    def _end_children(self, process):
        # Each child has the parent-death pipe.
        for child in process.children.values():
            if child.is_alive:
                if child.name == "chief-0":
                    child.signal(signal.SIGTERM)
                self._story.world.call_later(ORPHAN_SECS, child.kill)

    def is_over(self):
        return not self.process.is_alive and not self._story.list_alive()

    def status(self):
        return self.process.status

    def replace_paused(self, process):
        """A launcher waits for a paused process."""


class Children:
    """Takes the place of trainer.cluster.processes.Processes in the launcher."""

    def __init__(self, stream, on_line):
        self._on_line = on_line
        self._world = current().world
        self._parent = current().process
        self.running = {}

    def start(self, name, command, environment):
        story = self._world.story
        process = story.spawn_role(
            name, self._parent.machine, environment, lambda line: self._on_line(name, line, False)
        )
        self.running[name] = self._parent.children[name] = process

    def _find_ended(self):
        return [name for name, process in self.running.items() if not process.is_alive]

    def take_ended(self):
        self._world.wait(2.0, self._find_ended)
        ended = [(name, self.running.pop(name).status) for name in self._find_ended()]
        return [(name, -signal.SIGKILL if status is None else status) for name, status in ended]

    def wait_for_output(self, name=None):
        return []

    def finish_output(self, name):
        pass

    def send(self, number, *names):
        for name, process in list(self.running.items()):
            if not names or name in names:
                process.kill() if number == signal.SIGKILL else process.signal(number)

    def end(self, *names):
        for name in names:
            self.running.pop(name).kill()

    def log(self, name, line):
        if name == "launch":
            self._world.note(f"launcher: {line}")

    def write(self, line, stream):
        pass


class Served:
    """Processes on several machines, which a service restarts one by one, as Kubernetes does.

    Args:
        story: the Story.
    """

    def __init__(self, story):
        self._story = story
        self._num_starts = 0
        self._run_id = None
        self.current = {}  # name -> its newest process

    def start(self):
        story = self._story
        self._num_starts += 1
        self._run_id = f"run-{self._num_starts}" if story.has_run_id else None
        self.statuses, self.has_failed = {}, False
        for place, name in enumerate(story.names):
            self._start(name, story.machines[place % len(story.machines)])

    def _start(self, name, machine):
        story = self._story
        role, _, index = name.partition("-")
        environment = make_environment(story.spec, role, int(index), self._run_id)
        process = story.spawn_role(name, machine, environment)
        self.current[name] = process
        note_end = process.on_end

        def on_end(ended):
            note_end(ended)
            if self.current[name] is ended:
                self._follow(name, ended)

        process.on_end = on_end

    def _follow(self, name, ended):
        if ended.status in (0, 2):
            self.statuses[name] = ended.status
        if 2 in self.statuses.values():
            run = self._num_starts
            self._story.world.call_later(PARTITION_SECS, lambda: self._end_all(run))
        if name in self.statuses or self.has_failed:
            return
        delay = self._story.draw.choice((1.0, 5.0, 20.0))
        self._story.world.call_later(delay, lambda: self._restart(name, ended))

    def _end_all(self, run):
        """A service ends the job after a process has ended with status 2."""
        if run != self._num_starts:
            return
        self.has_failed = True
        for process in self.current.values():
            process.signal(signal.SIGTERM)
            self._story.world.call_later(ORPHAN_SECS, process.kill)

    def _restart(self, name, ended):
        if self.current[name] is ended and not self.has_failed:
            self._start(name, self._story.draw.choice(self._story.machines))

    def is_over(self):
        alive = any(one.is_alive for one in self.current.values())
        return not alive and (self.has_failed or len(self.statuses) == len(self.current))

    def status(self):
        return max(self.statuses.values())

    def replace_paused(self, process):
        """Starts a process again elsewhere; the paused one wakes up later."""

        def replace():
            if self.current[process.name] is process and process.is_alive:
                self._story.world.note(f"{process.name} is replaced")
                # A file server releases the locks of a machine that does not answer.
                process.machine.release_locks(process)
                others = [one for one in self._story.machines if one is not process.machine]
                self._start(process.name, self._story.draw.choice(others))

        self._story.world.call_later(PARTITION_SECS, replace)
