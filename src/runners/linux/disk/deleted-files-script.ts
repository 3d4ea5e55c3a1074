/**
 * Python. Argument: a directory on the host. Finds the processes in other mount namespaces that have this directory
 * mounted, and counts the deleted files of it that they still hold open. Prints the bytes, then "complete", "partial" or
 * "parked" (`CountCoverage`).
 *
 * It copies descriptors with pidfd_getfd, because the descriptors of a process that is not dumpable cannot be listed in
 * /proc, except by root. An ordinary user may copy them, because the cell's user namespace belongs to that user.
 */
export const deletedFilesScript = String.raw`
import ctypes, os, re, stat, sys, time
libc = ctypes.CDLL(None, use_errno=True)
KCMP = 312 if os.uname().machine == "x86_64" else 272
PIDFD_OPEN, PIDFD_GETFD, PIDFD_THREAD, KCMP_FILES = 434, 438, os.O_EXCL, 2
ESRCH, EBADF, EINVAL = 3, 9, 22
LEAST = 4096
TRANSIT = 0.05 # seconds in which a descriptor that somebody waits for is received
found, coverage = {}, "complete"

def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(one) for one in arguments))
    return result if result >= 0 else -ctypes.get_errno()

def read(path):
    with open(path, "rb", buffering=0) as file: return file.readall().decode("utf-8", "surrogateescape")

def unescaped(text): return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)

def mounts(task): return list(entries(read(f"/proc/{task}/mountinfo")))

def entries(text):
    for line in text.splitlines():
        number, _, device, root, point = line.split(" ")[:5]
        yield int(number), device, unescaped(root), unescaped(point)

def field(fd, name):
    match = re.search(rf"^{name}:\s*(\d+)", read(f"/proc/self/fdinfo/{fd}"), re.M)
    return int(match[1]) if match else 0

def wanted(directory):
    fd = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    number = field(fd, "mnt_id")
    os.close(fd)
    for one, device, root, point in mounts("self"):
        if one == number: return device, os.path.normpath(os.path.join(root, os.path.relpath(directory, point)))
    raise SystemExit("the directory is on no mount")

def add(info):
    if stat.S_ISREG(info.st_mode) and info.st_nlink == 0:
        found[info.st_dev, info.st_ino] = max(LEAST, info.st_blocks * 512)

def look_at(fd, places):
    info = os.fstat(fd)
    if stat.S_ISSOCK(info.st_mode): return field(fd, "scm_fds") == 0 or stays(fd)
    if info.st_nlink == 0 and field(fd, "mnt_id") in places: add(info)
    return True

def stays(fd):
    """A descriptor that was sent to a socket and not received yet is in no process's table."""
    global coverage
    time.sleep(TRANSIT)
    if field(fd, "scm_fds"): coverage = "parked"
    return False

def descriptors(task, flags, places):
    size = int(re.search(r"^FDSize:\s*(\d+)", read(f"/proc/{task}/status"), re.M)[1])
    pidfd = call(PIDFD_OPEN, task, flags)
    if pidfd < 0: return pidfd == -ESRCH
    try:
        for number in range(size):
            fd = call(PIDFD_GETFD, pidfd, number, 0)
            if fd == -ESRCH: return True
            if fd == -EBADF: continue
            if fd < 0: return False
            try:
                if not look_at(fd, places): return False
            finally: os.close(fd)
    finally: os.close(pidfd)
    return True

def mapped(task, points):
    seen = True
    for line in read(f"/proc/{task}/maps").splitlines():
        parts = line.split(None, 5)
        if len(parts) < 6 or not line.endswith(" (deleted)"): continue
        if not any(parts[5].startswith(point.rstrip("/") + "/") for point in points): continue
        if any(inode == int(parts[4]) for _, inode in found): continue
        start, end = (part.lstrip("0") or "0" for part in parts[0].split("-"))
        try: add(os.stat(f"/proc/{task}/map_files/{start}-{end}"))
        except FileNotFoundError: pass
        except OSError: seen = False # only root may follow it
    return seen

def program(task, points):
    target = os.readlink(f"/proc/{task}/exe")
    if target.endswith(" (deleted)") and any(target.startswith(point.rstrip("/") + "/") for point in points):
        add(os.stat(f"/proc/{task}/exe"))

def process(pid, tasks, here):
    live, places, points = tasks[0], {one for one, _ in here}, [point for _, point in here]
    seen = True
    for task in tasks:
        # a thread can have a table of its own
        if task != live and call(KCMP, live, task, KCMP_FILES, 0, 0) == 0: continue
        seen &= descriptors(task, PIDFD_THREAD if task != pid else 0, places)
    seen &= mapped(live, points)
    program(live, points)
    return seen

def living(pid):
    """The threads of a process that have not exited: the first one may have, while others live."""
    for task in map(int, os.listdir(f"/proc/{pid}/task")):
        try: yield task, mounts(task)
        except FileNotFoundError: pass
        except OSError as error:
            if error.errno != EINVAL: raise

device, root = wanted(os.path.realpath(sys.argv[1]))
own = os.stat("/proc/self/ns/mnt").st_ino
for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    try:
        for task, table in living(pid):
            here = [(one, point) for one, where, path, point in table if where == device and path == root]
            if not here or os.stat(f"/proc/{task}/ns/mnt").st_ino == own: break
            others = [other for other, _ in living(pid) if other != task]
            if not process(pid, [task, *others], here) and coverage == "complete": coverage = "partial"
            break
    except (FileNotFoundError, ProcessLookupError): pass
    except (OSError, ValueError, TypeError):
        if coverage == "complete": coverage = "partial"
    if coverage == "parked": break
print(sum(found.values()), coverage)
`;
