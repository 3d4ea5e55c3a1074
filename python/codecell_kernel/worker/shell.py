"""Bash runs: directory, variables and functions persist from run to run.

Each run is a new bash process that loads the state of the last one. The state is bytes in the worker's memory, so a
recovery or a rollback of the session restores it like any other variable.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from time import monotonic

import _signal

BASH = "/bin/bash"
MAX_STATE = 4 << 20
GRACE_SECONDS = 0.4
ASK_AGAIN_MS = 5
# fd 3: state in, fd 4: state out, fd 5: the code. All but 4, which the trap needs, are closed before user code runs.
# Uses nothing but bash: an image may have no other program. Waits for what it started itself, which would count as left behind. The x protects newlines at the end of the code.
# All of it is one line, because bash counts the lines of the code from here: its errors name the lines of the user's program.
SCRIPT = " ".join(
    r"""
__codecell_save() {
  local __codecell_name;
  {
    printf 'cd -- %q\n' "$PWD";
    set +o;
    shopt -p;
    declare -f;
    alias -p;
    while read -r __codecell_name; do
      case $__codecell_name in
        BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|HOSTTYPE|LINENO|MACHTYPE|OLDPWD|OPTERR|OPTIND) ;;
        OSTYPE|PIPESTATUS|PPID|PS4|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|_|__codecell_*) ;;
        *) declare -p -- "$__codecell_name" ;;
      esac;
    done < <(compgen -v);
    wait $!;
    printf '\n: complete\n';
  } >&4 2>/dev/null;
};
. /dev/fd/3 2>/dev/null; exec 3<&-;
trap '__codecell_status=$?; trap - EXIT; __codecell_save; exit $__codecell_status' EXIT;
__codecell_code=$(</dev/fd/5); exec 5<&-;
eval "${__codecell_code%x}"
""".split("\n")
)


class Shell:
    def __init__(self):
        self.state = b""

    def run(self, code, interpreter, name="bash", args=()):
        """Runs code as a bash script; its exit status is the run's. An interrupt takes effect during the wait for bash."""
        state_in, state_out, code_in = pipe_pair(), pipe_pair(), pipe_pair()
        ours = [state_in[1], state_out[0], code_in[1]]
        try:
            pid = self.start(state_in[0], state_out[1], code_in[0], (name, *args))
        finally:
            for fd in (state_in[0], state_out[1], code_in[0]):
                posix.close(fd)
        interrupted = False
        try:
            try:
                interpreter.take_interrupts()
                saved = self.exchange(pid, ours, self.state, bytes(code) + b"x")
            finally:
                interpreter.user_code = False
        except KeyboardInterrupt:
            saved = self.stop(pid, ours)
            interrupted = True
        finally:
            for fd in ours:
                if fd >= 0:
                    posix.close(fd)
        status = wait(pid)
        if saved.endswith(b"\n: complete\n"):
            self.state = saved
        if interrupted:
            return {"status": "interrupted"}
        if status == 0:
            return {"status": "ok", "exitCode": 0}
        error = {"name": "ExitStatus", "message": "bash exited with %d" % status, "traceback": ""}
        return {"status": "error", "exitCode": status, "error": error}

    def start(self, state_in, state_out, code_in, words):
        """`words` are $0, $1 and so on."""
        # All pipes have numbers above 5: otherwise dup2 could overwrite one that is still needed.
        actions = [(posix.POSIX_SPAWN_DUP2, fd, target) for fd, target in ((state_in, 3), (state_out, 4), (code_in, 5))]
        arguments = [BASH, "--noprofile", "--norc", "-c", SCRIPT, *(word.encode() for word in words)]
        defaults = [_signal.SIGINT, _signal.SIGPIPE]
        return posix.posix_spawn(
            BASH, arguments, posix.environ, file_actions=actions, setpgroup=0, setsigdef=defaults, setsigmask=[]
        )

    def exchange(self, pid, ours, state, code):
        """Writes state and code and collects the new state, until bash exits.

        A pidfd reports the exit. The end of the pipe does not: a background process may hold the pipe open. Without pidfds
        (older gVisor), we poll.
        """
        outgoing = {ours[0]: memoryview(state), ours[2]: memoryview(code)}
        saved = Saved(ours[1])
        poll = select.poll()
        for fd in ours:
            posix.set_blocking(fd, False)
        pidfd = open_pidfd(pid)
        if pidfd >= 0:
            poll.register(pidfd, select.POLLIN)
        poll.register(ours[1], select.POLLIN)
        for fd in outgoing:
            poll.register(fd, select.POLLOUT)
        try:
            while True:
                if pidfd < 0 and ended(pid):
                    saved.drain()
                    return saved.data
                for fd, _ in poll.poll(None if pidfd >= 0 else ASK_AGAIN_MS):
                    if fd == pidfd:
                        saved.drain()
                        return saved.data
                    if fd == ours[1]:
                        if not saved.drain():
                            poll.unregister(fd)
                        continue
                    outgoing[fd] = feed(fd, outgoing[fd])
                    if not outgoing[fd]:
                        poll.unregister(fd)
                        ours[ours.index(fd)] = -1  # before closing: an interrupt in between must not close it twice
                        posix.close(fd)
        finally:
            if pidfd >= 0:
                posix.close(pidfd)

    def stop(self, pid, ours):
        """Interrupts the whole foreground group. Kills it if it ignores that."""
        for signal in (_signal.SIGINT, _signal.SIGKILL):
            try:
                posix.killpg(pid, signal)
            except OSError:
                pass
            end = monotonic() + GRACE_SECONDS
            while monotonic() < end and not ended(pid):
                select.select([], [], [], 0.005)
            if ended(pid):
                break
        saved = Saved(ours[1])
        saved.drain()
        return saved.data


class Saved:
    """The state that bash writes on exit, up to a limit."""

    def __init__(self, fd):
        self.fd = fd
        self.data = b""

    def drain(self):
        """Reads what is available. False at the end of the stream."""
        while True:
            try:
                piece = posix.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not piece:
                return False
            if len(self.data) <= MAX_STATE:
                self.data += piece


def pipe_pair():
    """A pipe whose numbers do not collide with the fixed ones in the script."""
    import fcntl

    pair = posix.pipe2(posix.O_CLOEXEC)
    moved = tuple(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in pair)
    for fd in pair:
        posix.close(fd)
    return moved


def open_pidfd(pid):
    """A pidfd, or -1 if the OS does not support them."""
    try:
        return posix.pidfd_open(pid)
    except OSError:
        return -1


def feed(fd, data):
    try:
        return data[posix.write(fd, data[:65536]) :]
    except BlockingIOError:
        return data
    except OSError:
        return data[:0]


def ended(pid):
    """Whether bash has exited. Its status stays available for `wait`."""
    try:
        return posix.waitid(posix.P_PID, pid, posix.WEXITED | posix.WNOHANG | posix.WNOWAIT) is not None
    except ChildProcessError:
        return True


def wait(pid):
    try:
        _, status = posix.waitpid(pid, 0)
    except ChildProcessError:
        return 0
    return posix.WEXITSTATUS(status) if posix.WIFEXITED(status) else 128 + posix.WTERMSIG(status)
