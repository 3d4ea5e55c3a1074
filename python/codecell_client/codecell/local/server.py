"""Starts `codecell serve` on loopback with a random token, for one client."""
from __future__ import annotations

import atexit
import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, List, Mapping, Optional, Sequence, Union

from ..errors import CodecellError

Policy = Union[None, str, "os.PathLike[str]", Mapping[str, Any]]
Command = Union[None, str, "os.PathLike[str]", Sequence[str]]
START_SECONDS = 120.0
STOP_SECONDS = 30.0
MAX_MESSAGES = 2000
KEEPER = Path(__file__).with_name("keeper.py")
HINT = "put codecell on the PATH, set CODECELL_COMMAND, or pass command=['node', '/path/to/bin/codecell.js']"


class LocalServer:
    """One running server. It ends with `stop`, and with this process, however that ends."""

    def __init__(self, command: Command = None, policy: Policy = None, arguments: Sequence[str] = ()) -> None:
        argv = [*find_command(command), "serve", "--host", "127.0.0.1", "--port", "0", "--json", "--drain", "1s"]
        self.token = secrets.token_urlsafe(32)
        self._pid = os.getpid()
        directory = tempfile.mkdtemp(prefix="codecell-client-")
        try:
            if hasattr(os, "geteuid") and os.geteuid() == 0:
                os.chmod(directory, 0o711)  # cells of root run under another uid and have to enter it
            argv += ["--state-dir", os.path.join(directory, "state"), "--runtime-dir", os.path.join(directory, "run")]
            argv += [*policy_arguments(policy, directory), *arguments]
            self._process = self._start(argv, directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        try:
            self.url = self._address()
        except BaseException:
            self.stop()
            raise
        _servers.add(self)

    def __repr__(self) -> str:
        return "LocalServer(%r)" % getattr(self, "url", None)

    @property
    def pid(self) -> int:
        """The process that ends the server when this one ends."""
        return self._process.pid

    def _start(self, argv: List[str], directory: str) -> "subprocess.Popen[bytes]":
        path = os.path.join(directory, "serve.log")
        # Everyone on the machine can read command lines, so the token is in the environment.
        environment = {**os.environ, "CODECELL_TOKEN": self.token}
        with open(path, "wb") as log:
            self._log = open(path, "rb")  # stays readable when the keeper has removed the directory
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), directory, *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for this program, which may handle it
            )

    def _address(self) -> str:
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout else b""
        finally:
            timer.cancel()
        try:
            return str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            self._end()
            raise CodecellError("serve_failed", "`codecell serve` did not start: %s" % self.messages(), hint=HINT) from None

    def messages(self) -> str:
        """The end of what the server wrote to its log."""
        try:
            self._log.seek(max(0, os.fstat(self._log.fileno()).st_size - MAX_MESSAGES))
            return self._log.read(MAX_MESSAGES).decode(errors="replace").replace(self.token, "…").strip()
        except (OSError, ValueError):
            return ""

    def stop(self) -> None:
        """Ends the server and waits for it. A forked process leaves that to its parent."""
        _servers.discard(self)
        if self._pid == os.getpid():
            self._end()
        self._log.close()

    def _end(self) -> None:
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def find_command(command: Command) -> List[str]:
    """How to start codecell: what the caller says, CODECELL_COMMAND, `codecell` of the PATH, or the checkout of this package."""
    if command is None:
        given = os.environ.get("CODECELL_COMMAND")
        if given:
            return checked(shlex.split(given))
        found = shutil.which("codecell")
        if found:
            return [found]
        return checkout_command()
    if isinstance(command, (str, os.PathLike)):
        path = os.fspath(command)
        return checked(["node", path] if path.endswith(".js") else [path])
    return checked(list(command))


def checkout_command(module: Path = Path(__file__)) -> List[str]:
    """The command of a checkout that contains this package."""
    root = module.resolve().parents[4]
    launcher = root / "bin" / "codecell.js"
    if launcher.is_file() and (root / "python" / "codecell_client").is_dir() and shutil.which("node"):
        if not (root / "dist" / "bundled").is_dir():
            hint = "run `npm ci && npm run build` in %s" % root
            raise CodecellError("command_missing", "this checkout of codecell is not built", hint=hint)
        return ["node", str(launcher)]
    raise CodecellError("command_missing", "the command `codecell` was not found", hint=HINT)


def checked(command: List[str]) -> List[str]:
    if not command or shutil.which(command[0]) is None:
        name = command[0] if command else ""
        raise CodecellError("command_missing", "the command `%s` was not found" % name, hint=HINT)
    return command


def policy_arguments(policy: Policy, directory: str) -> List[str]:
    if policy is None:
        return []
    if not isinstance(policy, Mapping):
        return ["--policy", os.path.abspath(os.fspath(policy))]
    path = os.path.join(directory, "sandbox.policy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(policy, file)  # JSON is YAML
    return ["--policy", path]


_servers: "weakref.WeakSet[LocalServer]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for server in list(_servers):
        server.stop()


def settings(url: Optional[str], token: Optional[str]) -> "tuple[Optional[str], Optional[str]]":
    """URL and token from the arguments, or both from CODECELL_URL and CODECELL_TOKEN."""
    if url is not None:
        return url, token
    found = os.environ.get("CODECELL_URL")
    if found:
        return found, token or os.environ.get("CODECELL_TOKEN")
    if token is not None:
        raise CodecellError("usage", "a token needs the URL of its service", hint="pass url=, or set CODECELL_URL")
    return None, None
