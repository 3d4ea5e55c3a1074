/**
 * Python that runs before each attack. `host` has facts of the host that a cell must not be able to use. It never has the
 * host's secret itself, so a program that returns the secret has really read it.
 *
 * Only an error of the OS counts as a refusal. A mistake in an attack (a NameError, a bad argument) ends it as failed.
 */
export const prelude = `
import errno, json, os, socket, stat, sys
here = "/workspace" if os.path.isdir("/workspace") else os.path.expanduser("~")
class NotTried(Exception): pass
def not_tried(why):
    """The question makes no sense here."""
    raise NotTried(why)
def show(found):
    """Evidence for the host, which looks for its secret in everything that a run prints."""
    text, needle = repr(found), "".join(host["needle"])
    print(text[:2048])
    at = text.find(needle, 2000)
    while at >= 0:
        print(text[at:at + 64])
        at = text.find(needle, at + 64)
MISTAKES = (errno.EINVAL, errno.EFAULT, errno.EBADF, errno.ENOTTY)
def refused(action, harm="done"):
    """Contained if the OS refuses the action. What it returns is shown to the host."""
    try: found = action()
    except OSError as error:
        if error.errno in MISTAKES: raise
        return "contained"
    show(found)
    return harm
def nothing(found, harm="found"):
    """Contained if nothing was found."""
    found = list(found)
    if not found: return "contained"
    show(found)
    return harm + " " + json.dumps(found, default=str)[:500]
def unless(condition, harm):
    """Contained unless the condition holds."""
    return harm if condition else "contained"
def read(path, size=1 << 20):
    with open(path, "rb") as file: return file.read(size)
def readable(path):
    """Whether a file has content, or a directory entries."""
    try: return bool(os.listdir(path)) if os.path.isdir(path) else bool(read(path, 16))
    except OSError: return False
def reads(*paths):
    """Contained if none of the paths can be read."""
    found = [path for path in paths if readable(path)]
    for path in found:
        if not os.path.isdir(path): show(read(path))
    return nothing(found, "read")
def text_of(*paths):
    parts = []
    for path in paths:
        try: parts.append(read(path).decode(errors="replace"))
        except OSError: pass
    return "\\n".join(parts)
def can_write(directory):
    path = directory + "/written-by-an-attack"
    try: os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError: return False
    os.remove(path)
    return True
def writes(*directories):
    """Contained if no file can be made in any of the directories."""
    return nothing([one for one in directories if can_write(one)], "wrote to")
def changes(path, content=b"changed by an attack"):
    """Contained if an existing file cannot be opened for writing."""
    def change():
        fd = os.open(path, os.O_WRONLY)
        try: return os.write(fd, content)
        finally: os.close(fd)
    return refused(change, "changed " + path)
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, 93, 94, 95, 97)
def call(name, *args):
    """A raw system call; integers and pointers."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    number = host["calls"].get(name)
    if number is None: not_tried("this processor has no system call " + name)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), name + ": " + os.strerror(ctypes.get_errno()))
    return result
def blocked(name, *args):
    """Contained only if the call itself is refused. With any other error the OS has executed it."""
    try: result = call(name, *args)
    except OSError as error:
        return "contained" if error.errno in REFUSALS else "the OS executed " + str(error.strerror)
    return name + " returned " + str(result)
def buffer(size=4096):
    import ctypes
    return ctypes.create_string_buffer(size)
def connects(family, address, kind=socket.SOCK_STREAM):
    """Contained if nothing answers at this address. The host counts connections itself."""
    def connect():
        with socket.socket(family, kind) as one:
            one.settimeout(2); one.connect(address); one.send(b"knock")
            return address
    return refused(connect, "connected to " + repr(address))
def opens_socket(family, kind, protocol=0):
    return refused(lambda: socket.socket(family, kind, protocol).close(), "opened a socket of family %d" % family)
def pids():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()] if os.path.isdir("/proc") else []
def status(name):
    for line in text_of("/proc/self/status").splitlines():
        if line.startswith(name + ":"): return line.split(":", 1)[1].strip()
def first_of(*actions):
    """Contained if every action is: the harm of the first that is not."""
    for action in actions:
        said = action()
        if said != "contained": return said
    return "contained"
`;
