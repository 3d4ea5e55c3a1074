import { asks, type Exception, type Exceptions, type Probe, type Verdict } from "./probe.ts";

const exception = (verdict: Verdict, because: string): Exception => ({ verdict, because });
const wasmOnly = (verdict: Verdict, because: string): Exceptions => ({ wasm: exception(verdict, because) });

const noSockets = "there are no sockets";
const noProcesses = "there are no processes";
const noThreads = "there are no threads";

const network: readonly Probe[] = [
  asks(
    "connects to its own server on its own loopback",
    `attempt(lambda: (lambda s: (s.bind(("127.0.0.1", 0)), s.listen(), socket.create_connection(s.getsockname(), 2)))(socket.socket()))`,
    "done",
    wasmOnly("refused", noSockets),
  ),
  asks(
    "resolves localhost",
    `attempt(lambda: socket.getaddrinfo("localhost", 80, socket.AF_INET, socket.SOCK_STREAM))`,
    "done",
  ),
  asks(
    "knows the usual names of ports and protocols",
    `[socket.getservbyname("https", "tcp"), socket.getservbyname("domain", "udp"), socket.getservbyport(5432), socket.getprotobyname("udp")]`,
    [443, 53, "postgresql", 17],
    wasmOnly("OSError", noSockets),
  ),
];

const files: readonly Probe[] = [
  asks("writes to its workspace, /tmp and shared memory", `[writes(p) for p in ("/workspace", "/tmp", "/dev/shm")]`, [
    ...["done", "done", "done"],
  ]),
];

const environment: readonly Probe[] = [
  asks("sees the environment variable of its policy", `os.environ.get("GREETING")`, "hello"),
  asks(
    "has the host name `cell`",
    `socket.gethostname()`,
    "cell",
    wasmOnly("emscripten", "a name that the interpreter makes up"),
  ),
  asks(
    "reads /etc/hosts",
    `sorted({n for line in text_of("/etc/hosts").splitlines() for n in line.split("#")[0].split()[1:]})`,
    ["cell", "localhost"],
    wasmOnly([], noSockets),
  ),
  asks(
    "reads the users in /etc/passwd",
    `[line.split(":")[0] for line in text_of("/etc/passwd").splitlines()]`,
    ["root", "cell"],
    wasmOnly([], "there is no such file"),
  ),
  asks("starts in its workspace", `os.getcwd()`, "/workspace"),
  asks("has /workspace as its home", `os.path.expanduser("~")`, "/workspace"),
];

const interpreter: readonly Probe[] = [
  {
    name: "starts threads",
    code: `import threading\ndone = []\none = threading.Thread(target=lambda: done.append(1)); one.start(); one.join()\nverdict = done`,
    expect: [1],
    except: wasmOnly("RuntimeError", noThreads),
  },
  {
    name: "starts programs",
    code: `import subprocess\nverdict = subprocess.run(["echo", "child"], capture_output=True, text=True).stdout`,
    expect: "child\n",
    except: wasmOnly("OSError", noProcesses),
  },
  {
    name: "uses a process pool",
    code: `import multiprocessing\nwith multiprocessing.get_context("fork").Pool(2) as pool: verdict = pool.map(abs, [-1, -2])`,
    expect: [1, 2],
    except: wasmOnly("ModuleNotFoundError", noProcesses),
  },
  {
    name: "runs coroutines",
    code: `import asyncio\nasync def two():\n    await asyncio.sleep(0.01)\n    return 2\nverdict = await two()`,
    expect: 2,
  },
  {
    name: "keeps a database in a file",
    code: `import sqlite3\nwith sqlite3.connect("/workspace/rows.db") as base:\n    base.execute("create table if not exists t (a)"); base.execute("insert into t values (7)")\n    verdict = base.execute("select a from t").fetchone()[0]\nbase.close()\nos.remove("/workspace/rows.db")`,
    expect: 7,
  },
  {
    name: "receives a signal that it sent itself",
    code: `import signal\ngot = []\nold = signal.signal(signal.SIGUSR1, lambda *_: got.append(1))\nos.kill(os.getpid(), signal.SIGUSR1)\nsum(range(1000))\nsignal.signal(signal.SIGUSR1, old)\nverdict = got`,
    expect: [1],
  },
  {
    name: "makes temporary files",
    code: `import tempfile\nwith tempfile.NamedTemporaryFile("w+") as file:\n    file.write("x"); file.flush(); verdict = file.name.startswith("/tmp/")`,
    expect: true,
  },
  {
    name: "writes and reads a file of ten megabytes",
    code: `with open("/workspace/ten", "wb") as file: file.write(bytes(10 << 20))\nverdict = os.path.getsize("/workspace/ten")\nos.remove("/workspace/ten")`,
    expect: 10 << 20,
  },
  {
    name: "uses Unicode file names",
    code: `name = "/workspace/ünï ✓ 日本.txt"\nopen(name, "w").write("x")\nverdict = "ünï ✓ 日本.txt" in os.listdir("/workspace")\nos.remove(name)`,
    expect: true,
  },
  {
    name: "maps a file into memory",
    code: `import mmap\nwith open("/workspace/map", "wb+") as file:\n    file.write(b"abc"); file.flush()\n    with mmap.mmap(file.fileno(), 3) as view: verdict = view[:].decode()\nos.remove("/workspace/map")`,
    expect: "abc",
  },
  { name: "calls C functions", code: `import ctypes\nverdict = ctypes.CDLL(None).abs(-3)`, expect: 3 },
  {
    name: "runs bash",
    language: "bash",
    code: `printf '"%s"' "$((6 * 7))"`,
    expect: "42",
    except: wasmOnly("language_unavailable", noProcesses),
  },
];

/**
 * What a program may expect of every tier, with the reason where one differs. What a program must not be able to do is in the
 * catalogue of attacks: src/attacks/catalogue.
 */
export const probes: readonly Probe[] = [...network, ...files, ...environment, ...interpreter];
