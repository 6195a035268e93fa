"""A machine: a folder of its own as its disk, which may be full, emptied, or lose power."""

import fcntl
import os
import shutil

from simulation.kernel import FOREVER, current

# What was written earlier survives a loss of power.
WRITEBACK_SECS = 30.0


class Machine:
    """A machine.

    Args:
        world: the World.
        name: for traces.
        root: an empty folder.
    """

    def __init__(self, world, name, root):
        self.world, self.name, self.root = world, name, root
        self.root.mkdir(parents=True)
        self.is_full = False
        # inode → how many bytes of the file are on the disk
        self._synced = {}
        self.processes = []
        # (inode, process, file, whether it is shared); machines that share locks share the list.
        self.locks = []

    def stamp(self, path):
        """Gives a file the simulated time."""
        if os.path.exists(path):
            time = int(self.world.now * 1e6) * 1000
            os.utime(path, ns=(time, time))

    def note_synced(self, status):
        """Notes that a file, which has this os.stat_result, is on the disk."""
        self._synced[status.st_ino] = status.st_size

    def note_written(self, path):
        """Notes that a file has been written from its beginning."""
        self._synced.pop(path.stat().st_ino, None)

    def flock(self, process, file, how):
        inode = os.fstat(file.fileno()).st_ino
        shares = bool(how & fcntl.LOCK_SH)

        def is_free():
            self.locks[:] = [lock for lock in self.locks if not lock[2].closed]
            return not any(
                lock[0] == inode and lock[2] is not file and not (shares and lock[3])
                for lock in self.locks
            )

        if how & fcntl.LOCK_NB and not is_free():
            raise BlockingIOError(11, "Resource temporarily unavailable")
        while not is_free():
            current().world.wait(FOREVER, is_free)
        self.locks.append((inode, process, file, shares))

    def release_locks(self, process):
        self.locks[:] = [lock for lock in self.locks if lock[1] is not process]

    def lose_power(self, folders=()):
        """Ends all processes; what was written shortly before may be incomplete.

        Args:
            folders: more folders that the machine writes.
        """
        self.world.note(f"{self.name} loses power")
        for process in self.processes:
            process.kill()
        for path in sorted(path for one in (self.root, *folders) for path in one.rglob("*")):
            if path.is_file():
                self._tear(path)

    def _tear(self, path):
        """Cuts or removes a file that was written shortly before and is not on the disk."""
        random, status = self.world.random, path.stat()
        kept = self._synced.get(status.st_ino, 0)
        is_new = self.world.now - status.st_mtime_ns / 1e9 < WRITEBACK_SECS
        if not is_new or kept >= status.st_size or random.random() < 0.5:
            return
        # The state file replaces an earlier one, so that its name is on the disk.
        if (
            status.st_ino not in self._synced
            and path.name != "checkpoint"
            and random.random() < 0.2
        ):
            path.unlink()
            self.world.note(f"{path.relative_to(self.root.parent)} is lost")
            return
        size = random.randrange(kept, status.st_size)
        if path.name == "metrics.jsonl":
            last = path.read_bytes().rstrip(b"\n").rpartition(b"\n")[0]
            size = random.randrange(max(kept, len(last)), status.st_size)
        os.truncate(path, size)
        os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
        self.world.note(f"{path.relative_to(self.root.parent)} is torn at {size} bytes")

    def empty(self, folder, share):
        """Removes files of a folder, as a program that cleans up does.

        Args:
            folder: the folder.
            share: the share of the files to remove.
        """
        names = []
        for path in sorted(folder.rglob("*")):
            if path.is_file() and self.world.random.random() < share:
                path.unlink()
                names.append(path.name)
        if share >= 1 and folder.is_dir():
            for path in list(folder.iterdir()):
                shutil.rmtree(path)
        self.world.note(f"{self.name}: {len(names)} file(s) of {folder.name} are removed: {names}")
