import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noSockets, noSystemCalls } from "./shared-facts.ts";

const next = {
  kind: "persistence",
  scenario: "next-session",
  containedBy: {
    default: "each session has a new cell, with new namespaces and a new workspace",
    wasm: "each session has a new interpreter, with files in its own memory",
  },
  weakness: "shared-cell",
} as const;

/** What a program leaves for the next session. `afterwards` runs there, and looks for it. */
export const persistenceInNextSession: readonly Attack[] = [
  {
    ...does(
      "persistence/files",
      "leaves files for the next session in every place it can write to",
      `
for directory in ("/workspace", "/tmp", "/dev/shm", "/var/tmp", "/run", "/home", "/", "/opt", "/mnt", "/srv"):
    try:
        with open(directory + "/left-" + host["mine"], "w") as file: file.write("left")
    except OSError: pass
verdict = "contained"`,
      next,
    ),
    afterwards: `
places = ("/workspace", "/tmp", "/dev/shm", "/var/tmp", "/run", "/home", "/", "/opt", "/mnt", "/srv")
verdict = nothing([place for place in places if os.path.exists(place + "/left-" + host["mine"])])`,
  },
  {
    ...does(
      "persistence/start-files",
      "plants files that shells, Python and schedulers read when they start",
      `
import site
wanted = [os.path.expanduser("~/" + name) for name in (".bashrc", ".profile", ".bash_profile", ".pythonrc", ".config/autostart/x.desktop", ".config/systemd/user/x.service", ".ssh/rc", ".pdbrc")]
wanted += ["/etc/cron.d/x", "/var/spool/cron/crontabs/root", "/etc/profile.d/x.sh", "/etc/ld.so.preload", "/etc/rc.local"]
wanted += [(site.getusersitepackages() or "/home") + "/" + name for name in ("planted.pth", "usercustomize.py", "sitecustomize.py")]
for path in wanted:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a") as file: file.write("#" + host["mine"])
    except OSError: pass
verdict = "contained"`,
      next,
    ),
    afterwards: `
import site
roots = [os.path.expanduser("~"), "/etc/cron.d", "/var/spool/cron", "/etc/profile.d", "/etc/ld.so.preload", "/etc/rc.local", site.getusersitepackages() or "/home"]
found = []
for root in roots:
    for base, _, names in [(os.path.dirname(root), [], [os.path.basename(root)])] if os.path.isfile(root) else os.walk(root):
        found += [base + "/" + name for name in names if host["mine"] in text_of(base + "/" + name)]
verdict = nothing(found)`,
  },
  {
    ...does(
      "persistence/interpreter-files",
      "changes the files of the interpreter, its packages and codecell's kernel",
      `
paths = {getattr(one, "__file__", None) for one in list(sys.modules.values())} | {entry + "/planted.pth" for entry in sys.path if entry}
paths |= {entry + "/sitecustomize.py" for entry in sys.path if entry} | {getattr(one, "__cached__", None) for one in list(sys.modules.values())}
for path in paths:
    if not path or not path.endswith((".py", ".pth")): continue
    try:
        with open(path, "a") as file: file.write("\\n# left " + host["mine"])
    except OSError: pass
verdict = "contained"`,
      next,
    ),
    afterwards: `
paths = {getattr(one, "__file__", None) for one in list(sys.modules.values())} | {entry + "/planted.pth" for entry in sys.path if entry}
verdict = nothing([path for path in paths if path and host["mine"] in text_of(path)])`,
  },
  {
    ...does(
      "persistence/bytecode",
      "poisons the compiled code that the next interpreter loads",
      `
import importlib.util
for one in list(sys.modules.values()):
    cached = getattr(one, "__cached__", None)
    if not cached: continue
    try:
        os.makedirs(os.path.dirname(cached), exist_ok=True)
        with open(cached, "ab") as file: file.write(host["mine"].encode())
    except OSError: pass
verdict = "contained"`,
      next,
    ),
    afterwards: `
found = [getattr(one, "__cached__", None) for one in list(sys.modules.values())]
verdict = nothing([path for path in found if path and host["mine"] in text_of(path)])`,
  },
  {
    ...does(
      "persistence/patched-modules",
      "replaces functions of modules that the next session has loaded already",
      `
import builtins, json as module
module.dumps.planted = host["mine"]; builtins.planted = host["mine"]; os.environ["PLANTED"] = host["mine"]; sys.path.append(host["mine"])
sys.modules["planted"] = module
verdict = "contained"`,
      next,
    ),
    afterwards: `
import builtins, json as module
found = [getattr(module.dumps, "planted", None), getattr(builtins, "planted", None), os.environ.get("PLANTED"), *[one for one in sys.path if one == host["mine"]]]
verdict = nothing([one for one in found if one] + (["a module"] if "planted" in sys.modules else []))`,
  },
  {
    ...does(
      "persistence/variables",
      "leaves variables and threads for the next session",
      `
globals()["left_variable"] = host["mine"]
verdict = "contained"`,
      next,
    ),
    afterwards: `verdict = unless("left_variable" in globals(), "found the variable")`,
  },
  {
    ...does(
      "persistence/limits",
      "lowers limits, priority and rights of files for whoever comes next",
      `
import resource
os.umask(0o777); os.nice(15)
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)); resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
verdict = "contained"`,
      next,
    ),
    afterwards: `
import resource
mask = os.umask(0o022); os.umask(mask)
lowered = os.nice(0) >= 15 and os.nice(0) > host["priority"]
verdict = unless(mask == 0o777 or lowered or resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 50, "the next session is limited")`,
    notTried: { wasm: "there are no such limits to change" },
  },
  {
    ...does(
      "persistence/ipc",
      "leaves shared memory, semaphores and message queues, which outlive a process",
      `
import ctypes, zlib
libc = ctypes.CDLL(None, use_errno=True)
key = zlib.crc32(host["mine"].encode()) & 0x7fffffff
made = [libc.msgget(key, 0o1666), libc.semget(key, 1, 0o1666), libc.shmget(key, 4096, 0o1666)]
verdict = "contained"`,
      next,
    ),
    afterwards: `
import ctypes, zlib
libc = ctypes.CDLL(None, use_errno=True)
key = zlib.crc32(host["mine"].encode()) & 0x7fffffff
verdict = nothing([one for one in (libc.msgget(key, 0), libc.semget(key, 0, 0), libc.shmget(key, 0, 0)) if one >= 0])`,
    notTried: noSystemCalls,
  },
  {
    ...does(
      "persistence/sockets",
      "leaves a server behind on the addresses that the next session would use",
      `
import threading
held = []
for family, address in ((socket.AF_INET, ("127.0.0.1", 47811)), (socket.AF_UNIX, "\\0left-" + host["mine"]), (socket.AF_UNIX, "/tmp/left-socket")):
    try: one = socket.socket(family)
    except PermissionError: continue # sandbox-runtime refuses this family
    one.bind(address); one.listen(); held.append(one)
verdict = "contained"`,
      next,
    ),
    afterwards: `
found = []
for family, address in ((socket.AF_INET, ("127.0.0.1", 47811)), (socket.AF_UNIX, "\\0left-" + host["mine"]), (socket.AF_UNIX, "/tmp/left-socket")):
    try:
        with socket.socket(family) as one: one.settimeout(1); one.connect(address); found.append(str(address))
    except OSError: pass
verdict = nothing(found, "connected to")`,
    notTried: noSockets,
  },
  {
    ...does(
      "persistence/deep-files",
      "leaves a workspace that cannot be removed: no rights, odd names, deep paths",
      `
os.makedirs("/workspace/locked/below"); open("/workspace/locked/below/file", "w").close()
for name in ("-rf", "\\n", "\\x1b[2J", "a\\\\b", " ", "\\u202e", "*"): open("/workspace/locked/" + name, "w").close()
depth = 0
try:
    while depth < 200: os.mkdir("/workspace/" + "n" * 8) if depth == 0 else os.mkdir("n" * 200); os.chdir("/workspace/" + "n" * 8 if depth == 0 else "n" * 200); depth += 1
except OSError: pass
os.chdir("/workspace")
os.chmod("/workspace/locked/below", 0); os.chmod("/workspace/locked", 0)
verdict = "contained"`,
      {
        ...next,
        containedBy: {
          default: "removed through descriptors, whatever rights and names it has",
          wasm: next.containedBy.wasm,
        },
        control: { none: "the harm is a host that cannot remove a directory" },
      },
    ),
    hostChecks: ["host-stalled"],
    // Paths that are too long to measure count as over proc.disk, so a watch that looks in time ends the cell.
    endings: ["crashed"],
    afterwards: `verdict = nothing(os.listdir("/workspace"), "found")`,
  },
];
