"""Sessions, and the run of a program's main function."""

import logging

import absl.app
import pytest
import tensorflow as tf


@pytest.fixture
def first_run(monkeypatch):
    """Lets absl run a program's main function as the first one of the process."""
    for done in (absl.app._run_init, absl.app._register_and_parse_flags_with_usage):
        monkeypatch.setattr(done, "done", False)
    tf.flags.FLAGS.unparse_flags()


def test_a_profile_context_goes_on_with_the_next_graph(tmp_path):
    # Training and evaluation of an Estimator are two graphs. The process ended with SIGABRT.
    with tf.contrib.tfprof.ProfileContext(str(tmp_path), range(4), [3]) as context:
        for _ in range(2):
            with tf.Graph().as_default(), tf.Session() as session:
                total = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
                session.run(total)
                session.run(total)
    assert context.profiler is not None and [one.name for one in tmp_path.iterdir()] == [
        "profile_3"
    ]


def test_parameters_and_floating_point_operations_are_counted(capfd):
    analyzer = tf.contrib.tfprof.model_analyzer
    product = tf.matmul(tf.ones([2, 3]), tf.get_variable("weights", [3, 4]))
    options = analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    counted = analyzer.print_model_analysis(product.graph, tfprof_options=options)
    assert counted.total_parameters == 12
    assert "weights (3x4, 12/12 params)" in capfd.readouterr().out
    counted = analyzer.print_model_analysis(
        product.graph, tfprof_cmd="op", tfprof_options=analyzer.FLOAT_OPS_OPTIONS
    )
    assert counted.total_float_ops >= 2 * 2 * 3 * 4


def test_the_message_of_an_error_begins_with_its_reason(run):
    parsed = tf.string_to_number(tf.constant(["1", "x"]), name="parsed")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run(parsed)
    reason, place = caught.value.message.splitlines()
    assert reason == "StringToNumberOp could not correctly convert string: x"
    assert place.startswith("\t [[node parsed (defined at ") and "check_sessions.py:" in place
    assert str(caught.value).startswith(caught.value.message + "\n\nOriginal stack trace for 'pars")


@pytest.mark.parametrize(
    ("arguments", "before", "level"),
    [
        ([], logging.NOTSET, tf.logging.INFO),
        (["--verbosity=-1"], logging.NOTSET, tf.logging.WARN),
        ([], tf.logging.ERROR, tf.logging.ERROR),
    ],
)
def test_a_program_logs_information(first_run, arguments, before, level):
    # It logged only warnings, so that lines such as "loss = 0.5, step = 1" were missing.
    logger = logging.getLogger("tensorflow")
    logger.setLevel(before)
    handlers, seen = list(logging.root.handlers), []
    with pytest.raises(SystemExit):
        tf.app.run(lambda _: seen.append(tf.logging.get_verbosity()), ["program", *arguments])
    assert seen == [level] and logging.root.handlers == handlers
    logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize(("arguments", "value"), [([], "WARN"), (["--verbosity=DEBUG"], "DEBUG")])
def test_a_flag_of_the_program_named_verbosity_keeps_its_value(first_run, arguments, value):
    # absl sets the flag to 0 where the command does not name it.
    if tf.flags.FLAGS["verbosity"].default != "WARN":
        tf.flags.DEFINE_string("verbosity", "WARN", "Mine.")
    seen = []
    with pytest.raises(SystemExit):
        tf.app.run(lambda _: seen.append(tf.flags.FLAGS.verbosity), ["program", *arguments])
    assert seen == [value]


def test_the_debugger_has_the_arguments_of_1_15(tmp_path):
    from tensorflow.python import debug

    given = tf.placeholder(tf.float32, [])
    total = tf.add(tf.exp(given, name="watched"), 2.0)

    def watch(fetches, feeds):
        return debug.WatchOptions(node_name_regex_whitelist="watched$")

    first, second = tmp_path / "first", tmp_path / "second"
    with tf.Session() as session:
        # The last argument is log_usage.
        dumping = debug.DumpingDebugWrapperSession(session, str(first), watch, None, None, False)
        assert dumping.run(total, {given: 0.0}) == 3.0
    hook = debug.DumpingDebugHook(str(second), watch, log_usage=False)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(total, {given: 0.0}) == 3.0
    for root in (first, second):
        (run,) = root.iterdir()
        assert [one.node_name for one in debug.DebugDumpDir(str(run)).dumped_tensor_data] == [
            "watched"
        ]


def test_the_graph_is_watched_with_the_lists_of_1_15():
    from tensorflow.python import debug

    tf.constant(1.0, name="left_out")
    tf.constant(2.0, name="watched")
    options = tf.RunOptions()
    debug.watch_graph_with_blacklists(
        options, tf.get_default_graph(), node_name_regex_blacklist="left_out"
    )
    watched = options.debug_options.debug_tensor_watch_opts
    assert {one.node_name for one in watched} == {"watched"}


def test_the_command_line_of_the_debugger_falls_back_to_readline():
    from tensorflow.python import debug
    from tensorflow.python.debug.cli import ui_factory

    debug.LocalCLIDebugHook(ui_type="curses")
    debug.LocalCLIDebugWrapperSession(tf.Session(), None, False, ui_type="curses")
    assert ui_factory.get_ui("curses")
    with pytest.raises(ValueError, match="Invalid ui_type: 'other'"):
        ui_factory.get_ui("other")
