"""Servers that only this machine, or only the same cluster, can connect to."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from network import can_connect, find_own_address

from trainer.cluster import port_guard
from trainer.cluster.launch_command import main
from trainer.cluster.processes import find_addresses
from trainer.environment.cluster_spec import Cluster
from trainer.environment.variables import GUARDS_PORT

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.quick,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux can do it"),
]


def listen(port):
    """Returns a server as TensorFlow's: on all interfaces, sharing its port."""
    server = port_guard._open_socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind(("", port))
    server.listen(50)
    return server


def test_only_this_machine_can_connect(monkeypatch):
    address = find_addresses(1)[0]
    port, own = int(address.rpartition(":")[2]), find_own_address()
    cluster = Cluster({"chief": (address,), "worker": ("127.0.0.1:1",)})
    with listen(port):
        assert can_connect("127.0.0.1", port)
        assert own is None or can_connect(own, port)
    # Not asked for: nothing is guarded.
    port_guard.guard_server(cluster)
    assert port not in port_guard._guards
    monkeypatch.setenv(GUARDS_PORT, "1")
    port_guard.guard_server(cluster)
    port_guard.guard_server(cluster)
    assert not can_connect("127.0.0.1", port)
    for _ in range(2):
        # A restarted server is guarded too.
        with listen(port):
            assert all(can_connect("127.0.0.1", port) for _ in range(5))
            if socket.has_ipv6:
                assert can_connect("::1", port)
            assert own is None or not any(can_connect(own, port) for _ in range(3))
    port_guard._guards.pop(port).close()


# A program of its own, because the process must have one thread.
SERVE_IN_PRIVATE = """
import json, socket
from network import can_connect, find_own_address
from trainer.cluster.private_network import enter_private_network
from trainer.errors import UserError
try:
    enter_private_network()
except UserError as error:
    print(json.dumps(str(error)))
else:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        print(json.dumps([port, can_connect("127.0.0.1", port), find_own_address()]), flush=True)
        input()
"""


def test_no_other_process_can_connect_to_a_private_network():
    folders = (ROOT / "tests" / "support", ROOT)
    variables = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, folders)))
    command = [sys.executable, "-c", SERVE_IN_PRIVATE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=variables, text=True, **pipes) as process:
        received = json.loads(process.stdout.readline())
        if isinstance(received, str):
            assert "--private_network: this system does not allow" in received
        else:
            port, among_themselves, own = received
            assert among_themselves and own is None
            assert not can_connect("127.0.0.1", port)
            process.communicate("done\n", timeout=30)
    assert process.returncode == 0


def test_without_a_namespace_it_is_one_line(monkeypatch, capsys):
    def refuse(flags):
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr("trainer.cluster.private_network._unshare", refuse)
    assert main(["--private_network", "--", "--job_dir=x"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: --private_network: this system does not allow")
    assert told.count("\n") == 1
    assert main(["--private_network", "--", "--job_dir=gs://bucket/x"]) == 2
    assert "but its flags name gs://" in capsys.readouterr().err
