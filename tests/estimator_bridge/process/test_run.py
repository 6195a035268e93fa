"""`python -m estimator_bridge run`: a program cannot tell that it is not run by Python itself."""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

from estimator_bridge.process import children, run

pytestmark = pytest.mark.versions

PROGRAM = """
    import sys

    class Class:
        pass

    def fail():
        raise ValueError("on purpose")

    def name_of_estimator(queue):
        import tensorflow as tf
        queue.put(tf.estimator.Estimator.__name__)

    if __name__ == "__main__":
        act = sys.argv[1]
        if act == "raise":
            fail()
        if act == "cause":
            try:
                fail()
            except ValueError as error:
                raise KeyError("after it") from error
        if act == "exit":
            sys.exit(3)
        if act == "message":
            sys.exit("the end")
        if act == "interrupt":
            raise KeyboardInterrupt
        if act == "terminate":
            import os, signal
            os.kill(os.getpid(), signal.SIGTERM)
        if act == "hook":
            def hook(kind, value, traceback):
                print(kind.__name__, traceback.tb_frame.f_code.co_filename)
            sys.excepthook = hook
            fail()
        if act == "facts":
            print(sys.argv, sys.path[0], __file__, __spec__ and __spec__.name, __package__)
            print(sorted(globals()), sys.modules["__main__"].Class is Class)
        if act == "pickle":
            import pickle
            print(pickle.loads(pickle.dumps(Class)) is Class)
        if act == "atexit":
            import atexit
            atexit.register(lambda: print("still here:", Class.__name__))
            fail()
        if act == "thread":
            import threading, time
            threading.Thread(target=lambda: (time.sleep(0.2), print(Class.__name__))).start()
        if act == "spawn":
            import multiprocessing
            spawn = multiprocessing.get_context("spawn")
            queue = spawn.Queue()
            process = spawn.Process(target=name_of_estimator, args=(queue,))
            process.start()
            print(queue.get(timeout=120))
            process.join()
            print(process.exitcode)
        if act == "child":
            import subprocess
            code = "import tensorflow as tf; print(tf.estimator.Estimator.__name__)"
            subprocess.run([sys.executable, "-c", code], check=True)
        if act == "stderr":
            import tensorflow
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    return tmp_path


def python(folder, *args, bridged=False, **environment):
    command = [sys.executable, *(["-m", "estimator_bridge", "run"] if bridged else []), *args]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )
    return done.returncode, done.stdout, done.stderr


ACTS = (
    "raise cause exit message interrupt terminate hook facts pickle atexit thread".split()  # noqa: SIM905
)


@pytest.mark.parametrize("way", [["program.py"], ["-m", "program"]], ids=["script", "module"])
@pytest.mark.parametrize("act", ACTS)
def test_a_program_runs_as_in_python_itself(folder, act, way):
    assert python(folder, *way, act, bridged=True) == python(folder, *way, act)


def test_signals_and_exit_codes_are_those_of_the_program(folder):
    # The comparison above would also hold if both were wrong.
    assert python(folder, "program.py", "terminate", bridged=True)[0] == -signal.SIGTERM
    assert python(folder, "program.py", "interrupt", bridged=True)[0] == -signal.SIGINT
    assert python(folder, "program.py", "exit", bridged=True)[0] == 3


def test_a_traceback_starts_in_the_program(folder):
    _, _, stderr = python(folder, "program.py", "raise", bridged=True)
    lines = stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert str(folder / "program.py") in lines[1]
    assert "estimator_bridge" not in stderr


@pytest.mark.parametrize(
    "way",
    [
        ["broken.py"],
        ["-m", "broken"],
        ["-m", "absent"],
        ["folder"],
        ["archive.zip"],
        ["-m", "package"],
    ],
    ids=" ".join,
)
def test_folders_archives_and_modules_run(folder, way):
    (folder / "broken.py").write_text("def (:\n")
    for package in ("folder", "package"):
        (folder / package).mkdir()
        (folder / package / "__main__.py").write_text(textwrap.dedent(PROGRAM))
    (folder / "package" / "__init__.py").write_text("print(__name__)\n")
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", textwrap.dedent(PROGRAM))
    for act in ("raise", "facts"):
        assert python(folder, *way, act, bridged=True) == python(folder, *way, act)


def test_python_path_option_is_kept(folder):
    if sys.version_info < (3, 11):
        pytest.skip("-P is of Python 3.11")
    (folder / "other.py").write_text("")
    (folder / "importer.py").write_text("import other\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "estimator_bridge", "run", "importer.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "No module named 'other'" in done.stderr


@pytest.mark.parametrize("marked", [True, False], ids=["package", "folder without __init__"])
def test_the_programs_own_trainer_package_comes_first(folder, marked):
    """Almost every old trainer's package has the name of ours; many had no __init__.py."""
    own = folder / "trainer"
    own.mkdir()
    if marked:
        (own / "__init__.py").write_text("")
    (own / "model.py").write_text("WHOSE = 'the program'\n")
    (own / "task.py").write_text("from trainer import model\nprint(model.WHOSE)\n")
    assert python(folder, "-m", "trainer.task", bridged=True)[1] == "the program\n"
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'trainer.task'])\n"
    (folder / "starter.py").write_text(code)
    assert python(folder, "starter.py", bridged=True)[1] == "the program\n"


def test_another_sitecustomize_still_runs(folder):
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("print('theirs')\n")
    (folder / "starter.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import sys; "
        'print([p for p in sys.path if p.endswith("children")])\'])\n'
    )
    _, stdout, stderr = python(folder, "starter.py", bridged=True, PYTHONPATH=str(site))
    assert stdout == "theirs\ntheirs\n[]\n" and stderr == ""


def test_processes_of_the_program_have_the_same_path(folder):
    """An empty entry of PYTHONPATH is the current folder."""
    (folder / "below").mkdir()
    (folder / "beside.py").write_text("print('found')\n")
    (folder / "below" / "child.py").write_text("import beside\n")
    (folder / "starter.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'below/child.py'])\n"
    )
    path = os.pathsep + os.environ.get("PYTHONPATH", "")
    assert python(folder, "starter.py", bridged=True, PYTHONPATH=path) == (0, "found\n", "")


def test_installed_packages_keep_their_place_in_the_path_of_processes(tmp_path):
    own, site, other = children.FOLDER, tmp_path / "site-packages", tmp_path / "other"
    folder = site / "estimator_bridge" / "process" / "children"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("def enter():\n    print('entered')\n")
    shutil.copy(os.path.join(own, "sitecustomize.py"), folder)
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.path[1:3], sep=chr(10))"],
        capture_output=True,
        text=True,
        timeout=60,
        env={
            children.PREFIX_VARIABLE: sys.prefix,
            "PYTHONPATH": os.pathsep.join(map(str, (folder, site, other))),
        },
    )
    assert done.stdout.split() == ["entered", str(site), str(other)], done.stderr


@pytest.mark.parametrize("act", ["spawn", "child"])
def test_processes_of_the_program_have_estimators(folder, act):
    status, stdout, stderr = python(folder, "program.py", act, bridged=True)
    assert status == 0, stderr
    assert stdout.split()[0] == "EstimatorV2"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ([], "no program given"),
        (["--tf2", "x.py"], "no such option: --tf2"),
        (["-m"], "-m needs the name of a module"),
        (["--read_ahead=some", "x.py"], "--read_ahead: 'some' is no number of elements"),
        (["--read_ahead", "x.py"], "--read_ahead needs a number"),
        (["--batch_first=maybe", "x.py"], "--batch_first=maybe: give yes or no"),
        (["--fast=no", "x.py"], "--fast=no: give --fast alone"),
        (["--profile=p", "x.py"], "--profile=p: give --profile alone"),
        (["--as=2.8", "--fast", "-m", "x"], "--fast needs --tf1"),
        (["absent.py"], "no such file:"),
    ],
)
def test_a_wrong_command_is_an_error_of_one_line(folder, args, problem):
    status, stdout, stderr = python(folder, *args, bridged=True)
    assert (status, stdout) == (2, "")
    (line,) = stderr.splitlines()
    assert line.startswith(f"estimator_bridge run: {problem}")


def test_options_end_at_the_programs_name():
    program = run.Target("a.py", False, [])
    assert run.parse(["--tf1", "a.py", "--tf1", "-m"]) == program._replace(
        args=["--tf1", "-m"], as_version=(1, 15)
    )
    assert run.parse(["--as=2.8.4", "a.py"]) == program._replace(as_version=(2, 8))
    assert run.parse(["-m", "a.b", "-x"]) == run.Target("a.b", True, ["-x"])
    assert run.parse(["-ma.b"]) == run.Target("a.b", True, [])
    assert run.parse(["--", "-odd.py"]) == program._replace(name="-odd.py")
    older = ["--exports_for=1.15", "a.py", "--exports_for=2.5"]
    assert run.parse(older) == program._replace(args=older[2:], exports_for="1.15")
    assert run.parse(["--read_ahead=0", "a.py"]) == program._replace(read_ahead="0")
    assert run.parse(["--batch_first=no", "a.py"]) == program._replace(batch_first="no")
    assert run.parse(["--fast", "--tf1", "a.py"]) == program._replace(
        as_version=(1, 15), fast="yes"
    )
    assert run.parse(["--profile", "a.py", "--profile"]) == program._replace(
        args=["--profile"], profile="yes"
    )


def test_a_profile_is_printed_at_the_end_and_changes_nothing_else(folder):
    (folder / "sessions.py").write_text(
        textwrap.dedent("""
        import sys
        import tensorflow as tf
        value = tf.constant(1.0) + tf.random.uniform([], 1.0, 2.0)
        with tf.Session() as session:
            print(sum(session.run(value) > 1 for _ in range(20)))
        sys.exit(3)
        """)
    )
    status, stdout, stderr = python(folder, "--tf1", "--profile", "sessions.py", bridged=True)
    assert (status, stdout) == (3, "20\n"), stderr
    report = stderr[stderr.index("estimator_bridge: where the time of this program went") :]
    assert re.search(" 20 session runs|other session runs: 20", report)


def test_a_program_that_fails_at_its_start_gets_no_profile(folder):
    status, _, stderr = python(folder, "--profile", "program.py", "raise", bridged=True)
    assert status == 1 and "on purpose" in stderr
    assert "where the time" not in stderr


def test_setuptools_is_imported_only_for_distutils(folder):
    # A finder of setuptools itself may be installed, or not.
    (folder / "old.py").write_text(
        textwrap.dedent("""
        import sys
        print("setuptools" in sys.modules)
        kept = [one for one in sys.meta_path if type(one).__name__ != "DistutilsMetaFinder"]
        sys.meta_path[:] = kept
        from distutils.version import LooseVersion
        print(LooseVersion("1.9") < LooseVersion("1.15"))
        """)
    )
    status, stdout, stderr = python(folder, "--tf1", "old.py", bridged=True)
    assert (status, stdout.split()) == (0, ["False", "True"]), stderr
