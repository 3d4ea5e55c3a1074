"""A `codecell serve` of this process: on loopback, with a random token, shared by its interpreters."""
from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from .protocol import CodeInterpreterError
from .service import Service

Policy = Union[None, str, "os.PathLike[str]", Mapping[str, Any]]
START_SECONDS = 120.0
STOP_SECONDS = 30.0
# One program may evaluate many examples at once, and each execution holds two requests open.
LIMITS = ("--max-runs-per-token", "64", "--max-requests-per-token", "512")
KEEPER = Path(__file__).with_name("keeper.py")


class LocalServer:
    """One running server. `acquire` and `release` count who uses it."""

    def __init__(self, command: Sequence[str], policy: Policy, arguments: Sequence[str]) -> None:
        self.users = 0
        self.pid = os.getpid()
        directory = tempfile.mkdtemp(prefix="codecell-dspy-")
        if os.geteuid() == 0:
            os.chmod(directory, 0o711)  # cells of root run under another uid and have to enter it
        self._log = os.path.join(directory, "serve.log")
        token = secrets.token_urlsafe(32)
        argv = [*command, "serve", "--host", "127.0.0.1", "--port", "0", "--json", "--drain", "1s"]
        argv += ["--state-dir", os.path.join(directory, "state"), "--runtime-dir", os.path.join(directory, "run")]
        argv += [*LIMITS, *policy_arguments(policy, directory), *arguments]
        # Everyone on the machine can read command lines, so the token is in the environment.
        environment = {**os.environ, "CODECELL_TOKEN": token}
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), directory, *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for this program, which may handle it
            )
            self._messages = open(self._log, "rb")
        self.service = Service(self._address(command), token)

    def _address(self, command: Sequence[str]) -> str:
        """Waits until the server prints its address."""
        timer = threading.Timer(START_SECONDS, self.process.kill)
        timer.start()
        try:
            line = self.process.stdout.readline() if self.process.stdout else b""
        finally:
            timer.cancel()
        try:
            return str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            self._end()
            reason = self.messages()
            self._messages.close()
            hint = "Put codecell on the PATH, or pass its command, such as command=['node', '/path/to/bin/codecell.js']."
            raise CodeInterpreterError("`%s serve` did not start: %s\n%s" % (" ".join(command), reason, hint)) from None

    def messages(self) -> str:
        """The end of what the server wrote to its log."""
        try:
            return self._messages.read()[-2000:].decode(errors="replace").strip()
        except ValueError:
            return ""

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """Ends the server and waits for it."""
        self._end()
        self.service.close()
        self._messages.close()

    def _end(self) -> None:
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


_servers: Dict[Tuple[str, ...], LocalServer] = {}
_guard = threading.Lock()


def acquire(command: Sequence[str], policy: Policy = None, arguments: Sequence[str] = ()) -> LocalServer:
    """The server of this process with this command, policy and arguments. Starts it if there is none."""
    shown = json.dumps(policy, sort_keys=True) if isinstance(policy, Mapping) else os.fspath(policy or "")
    # A forked process gets a server of its own: the other one belongs to its parent.
    key = (str(os.getpid()), shown, str(len(command)), *command, *arguments)
    with _guard:
        server = _servers.get(key)
        if server is None or not server.is_running:
            server = _servers[key] = LocalServer(command, policy, arguments)
        server.users += 1
        return server


def release(server: LocalServer) -> None:
    """The last one to release it stops it."""
    with _guard:
        server.users -= 1
        if server.users > 0 or server.pid != os.getpid():
            return
        for key in [key for key, one in _servers.items() if one is server]:
            del _servers[key]
    server.stop()


def policy_arguments(policy: Policy, directory: str) -> Sequence[str]:
    if policy is None:
        return []
    if not isinstance(policy, Mapping):
        return ["--policy", os.path.abspath(os.fspath(policy))]
    path = os.path.join(directory, "sandbox.policy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(policy, file)  # JSON is YAML
    return ["--policy", path]


@atexit.register
def _stop_all() -> None:
    for server in list(_servers.values()):
        if server.pid == os.getpid():
            server.stop()
