import { asks, attacks, type Exception, type Exceptions, type Probe, type Verdict } from "./probe.ts";

const exception = (verdict: Verdict, because: string): Exception => ({ verdict, because });
const wasmOnly = (verdict: Verdict, because: string): Exceptions => ({ wasm: exception(verdict, because) });

const virtualFiles = "its whole file system is private and in the interpreter's memory";
const noSockets = "there are no sockets";
const noProcesses = "there are no processes";
const noThreads = "there are no threads";

const network: readonly Probe[] = [
  attacks("connects to a port of the host's loopback", `connect(socket.AF_INET, ("127.0.0.1", host["port"]))`),
  attacks("connects to another address of the host's loopback", `connect(socket.AF_INET, ("127.0.0.2", host["port"]))`),
  attacks("connects to the host by IPv6", `connect(socket.AF_INET6, ("::1", host["port"]))`),
  attacks("connects to an abstract socket of the host", `connect(socket.AF_UNIX, "\\0" + host["abstract"])`),
  attacks("connects to a named socket of the host", `connect(socket.AF_UNIX, host["socket"])`),
  attacks(
    "queries a name server",
    `socket.getaddrinfo("name.invalid", 80)`,
    wasmOnly("done", "the interpreter makes up an address, and nothing connects to it"),
  ),
  attacks("opens a raw socket", `socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)`),
  attacks("opens a packet socket", `socket.socket(17, socket.SOCK_RAW, 0x0300)`),
  attacks("opens a netlink socket to the Linux kernel", `socket.socket(16, socket.SOCK_RAW, 0)`),
  attacks("opens a socket to the hypervisor", `socket.socket(40, socket.SOCK_STREAM)`),
  asks(
    "sees an interface that is not its own loopback",
    `[line.split(":")[0].strip() for line in text_of("/proc/net/dev").splitlines()[2:] if line.split(":")[0].strip() != "lo"]`,
    [],
  ),
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
  ...["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root", "/home", "/boot"].map((path) =>
    asks(`reads ${path}`, `readable("${path}")`, false, path === "/home" ? wasmOnly(true, virtualFiles) : undefined),
  ),
  asks("finds a file in the host's home", `os.path.exists(host["file"])`, false),
  asks("finds the host's runtime directory of codecell", `readable("/run/codecell")`, false),
  asks(
    "finds the socket of a container engine",
    `[p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", host["engine"]) if p and os.path.exists(p)]`,
    [],
  ),
  ...["/", "/usr", "/usr/bin", "/etc", "/deps", "/.kernel", "/run", "/var", "/var/tmp", "/dev", "/opt", "/proc"].map(
    (path) => {
      const isMade = ["/", "/usr", "/deps", "/dev", "/proc"].includes(path);
      return asks(`writes to ${path}`, `writes("${path}")`, "refused", isMade ? wasmOnly("done", virtualFiles) : {});
    },
  ),
  asks("writes to its workspace, /tmp and shared memory", `[writes(p) for p in ("/workspace", "/tmp", "/dev/shm")]`, [
    ...["done", "done", "done"],
  ]),
  {
    name: "follows a symlink out of the workspace",
    code: `os.symlink(host["file"], "/workspace/out")\nverdict = attempt(lambda: read("/workspace/out"))\nos.remove("/workspace/out")`,
    expect: "refused",
  },
  attacks("makes a hard link to a system program in its workspace", `os.link("/usr/bin/env", "/workspace/env")`),
  asks(
    "reads the host's environment from process 1",
    `any(host["secret"] in text_of(p) for p in ("/proc/1/environ", "/proc/self/environ", "/proc/1/cmdline"))`,
    false,
  ),
  attacks("opens the memory of process 1", `read("/proc/1/mem", 1)`),
  attacks("lists the file descriptors of process 1", `os.listdir("/proc/1/fd")[0]`, {
    gvisor: exception(
      "done",
      "gVisor's Linux kernel only checks for the same user; those descriptors belong to the cell's own session",
    ),
  }),
  ...[
    "kcore",
    "kallsyms",
    "keys",
    "kmsg",
    "modules",
    "iomem",
    "partitions",
    "diskstats",
    "interrupts",
    "cmdline",
    "timer_list",
    "config.gz",
  ].map((name) =>
    asks(
      `reads /proc/${name}`,
      `readable("/proc/${name}")`,
      false,
      name === "cmdline"
        ? { gvisor: exception(true, "the command line of gVisor's own Linux kernel, the same everywhere") }
        : {},
    ),
  ),
  asks(
    "changes a setting of the Linux kernel",
    `[p for d, _, names in os.walk("/proc/sys") for p in [d + "/" + n for n in names] if attempt(lambda: os.close(os.open(p, os.O_WRONLY))) == "done"]`,
    [],
  ),
  attacks("triggers a system request key", `os.open("/proc/sysrq-trigger", os.O_WRONLY)`),
  asks("sees devices and settings in /sys", `readable("/sys")`, false, {
    gvisor: exception(true, "the sysfs of gVisor's own Linux kernel: usable processors and empty directories"),
  }),
  asks(
    "finds a device other than the usual ones",
    `sorted(n for n in os.listdir("/dev") if stat.S_ISBLK(os.lstat("/dev/" + n).st_mode) or n in ("mem", "kmem", "port", "kvm", "kmsg", "vhost-net", "loop-control", "fuse", "input", "dri", "nvidia0"))`,
    [],
    { gvisor: exception(["fuse"], "a device of gVisor's own Linux kernel, without the host's behind it") },
  ),
  asks(
    "reads names of the host in the mount table",
    `[n for n in host["names"] if n in text_of("/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/mounts")]`,
    [],
  ),
  asks("reads the engine's directories in the mount table", `"upperdir=" in text_of("/proc/self/mountinfo")`, false, {
    docker: exception(
      true,
      "the Linux kernel shows the layers of the root file system; only a tier with its own Linux kernel hides them",
    ),
    podman: exception(
      true,
      "the Linux kernel shows the layers of the root file system; only a tier with its own Linux kernel hides them",
    ),
  }),
  attacks("mounts a file system", `call("mount", b"none", b"/tmp", b"tmpfs", 0, 0)`),
  attacks("remounts the root for writing", `call("mount", 0, b"/", 0, 32, 0)`),
  attacks("unmounts the cover of /proc/sys", `call("umount2", b"/proc/sys", 2)`),
  attacks("changes its root directory", `os.chroot("/tmp")`),
  attacks(
    "opens a disk through a device node that it made",
    `(os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)), os.open("/tmp/disk", os.O_RDONLY))`,
  ),
  attacks("opens a file by handle", `call("open_by_handle_at", -100, buffer(), 0)`),
];

const processes: readonly Probe[] = [
  asks(
    "sees processes of the host",
    `[p for p in (os.listdir("/proc") if os.path.isdir("/proc") else []) if p.isdigit() and host["mark"] in text_of("/proc/%s/cmdline" % p, "/proc/%s/environ" % p)]`,
    [],
  ),
  asks(
    "sees how many processes the host has",
    `len([p for p in (os.listdir("/proc") if os.path.isdir("/proc") else []) if p.isdigit()]) < 10`,
    true,
  ),
  attacks("traces process 1", `call("ptrace", 16, 1, 0, 0)`),
  attacks(
    "reads the memory of process 1 by a system call",
    `call("process_vm_readv", 1, (__import__("ctypes").c_ulong * 2)(0x400000, 16), 1, (__import__("ctypes").c_ulong * 2)(0x400000, 16), 1, 0)`,
  ),
  {
    name: "kills process 1",
    code: `attempt(lambda: [attempt(lambda: os.kill(1, n)) for n in (9, 15, 2, 19, 11)])\nverdict = "alive"`,
    expect: "alive",
  },
  {
    name: "kills the parked copy that restores its state after a crash",
    // an older copy may be exiting, and a signal to it does no harm: only the one that stays counts
    code: `import time\nlook = lambda: {int(p) for p in (os.listdir("/proc") if os.path.isdir("/proc") else []) if p.isdigit()} - {1, os.getpid()}\nothers = look()\ntime.sleep(0.5)\nothers &= look()\nverdict = ["done"] if any(attempt(lambda: os.kill(p, 9)) == "done" for p in others) else []`,
    expect: [],
    afterIdle: true,
    except: {
      gvisor: exception(
        ["done"],
        "gVisor's Linux kernel cannot ask the supervisor; the state is lost, the session stays usable",
      ),
    },
  },
  attacks("becomes root", `os.setuid(0)`),
  attacks("becomes a member of other groups", `os.setgroups([0])`),
  asks(
    "is root",
    `os.getuid() == 0`,
    false,
    wasmOnly(true, "a number that the interpreter makes up; nothing checks it"),
  ),
  asks(
    "has a capability",
    `sorted({status(n) or "0" * 16 for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")})`,
    ["0".repeat(16)],
  ),
  asks(
    "has no_new_privs set",
    `attempt(lambda: (lambda n: n == 1 or 1 / 0)(call("prctl", 39, 0, 0, 0, 0)))`,
    "done",
    wasmOnly("refused", noProcesses),
  ),
  asks(
    "runs without a system call filter",
    `status("Seccomp")`,
    "2",
    wasmOnly(null, "it makes no system calls: the process around it has the filter"),
  ),
  {
    name: "gains privileges through a set-user-ID program that it made",
    code: `import shutil, subprocess\ndef made():\n    shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o6755)\n    out = subprocess.run(["/tmp/id", "-u"], capture_output=True, text=True).stdout.strip()\n    assert out == "0"\nverdict = attempt(made)`,
    expect: "refused",
  },
  attacks("makes a user namespace", `call("unshare", 0x10000000)`),
  attacks("makes a mount namespace", `call("unshare", 0x00020000)`),
  attacks("makes a network namespace", `call("unshare", 0x40000000)`),
  attacks("enters the namespace of process 1", `call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)`),
  attacks("loads a program into the Linux kernel (bpf)", `call("bpf", 0, buffer(), 64)`),
  attacks("observes the Linux kernel (perf_event_open)", `call("perf_event_open", buffer(), 0, -1, -1, 0)`),
  attacks("leaves a key in a keyring", `call("add_key", b"user", b"k", b"x", 1, -2)`),
  attacks("reads a keyring", `call("keyctl", 0, -3, 1)`),
  attacks("bypasses the filter with io_uring", `call("io_uring_setup", 8, buffer())`),
  attacks("stalls the Linux kernel at a page fault (userfaultfd)", `call("userfaultfd", 0)`),
  attacks("turns off address randomization", `call("personality", 0x0040000)`),
  attacks("loads a Linux kernel module", `call("finit_module", 0, b"", 0)`),
  attacks("reads the Linux kernel's log", `call("syslog", 3, buffer(), 16)`),
  attacks("sets the clock", `call("settimeofday", buffer(), 0)`),
  attacks("restarts the machine", `call("reboot", 0xFEE1DEAD, 672274793, 0, 0)`),
  attacks("renames the host", `socket.sethostname("other")`),
  attacks("raises its own limits", `__import__("resource").setrlimit(7, (1 << 20, 1 << 20))`),
];

const resources: readonly Probe[] = [
  {
    name: "starts more processes than the limit",
    code: `import time\nmade = ended = 0\ntry:\n    while made < 60:\n        if os.fork() == 0: time.sleep(20); os._exit(0)\n        made += 1\nexcept OSError: pass\ntime.sleep(0.5)\ntry:\n    while os.waitpid(-1, os.WNOHANG)[0]: ended += 1\nexcept ChildProcessError: pass\nverdict = made - ended <= 35`,
    expect: true,
    except: wasmOnly("OSError", noProcesses),
  },
  {
    name: "takes more memory than the limit",
    code: "hog = []\nwhile True: hog.append(bytearray(16 << 20))",
    expect: "out_of_memory",
  },
  {
    name: "takes more memory than the limit in children",
    code: `import time\nfor _ in range(8):\n    if os.fork() == 0:\n        hog = bytearray(128 << 20); time.sleep(2); os._exit(0)\nalive = 0\nfor _ in range(8): alive += os.wait()[1] == 0\nverdict = alive < 8`,
    expect: true,
    except: {
      wasm: exception("OSError", noProcesses),
      gvisor: exception("out_of_memory", "the supervisor measures, and ends the whole run"),
    },
  },
  {
    name: "writes more than the disk limit",
    code: `def fill():\n    with open("/workspace/big", "wb") as file:\n        for _ in range(64): file.write(bytes(1 << 20))\nverdict = attempt(fill)\nos.remove("/workspace/big")`,
    expect: "refused",
  },
  {
    name: "makes a sparse file of a hundred terabytes",
    code: `def hole():\n    with open("/workspace/hole", "wb") as file: file.truncate(100 << 40)\nverdict = attempt(hole)\nos.remove("/workspace/hole")`,
    expect: "refused",
  },
  {
    name: "opens more files than the limit",
    code: `held = []\ndef more():\n    while len(held) < 400: held.append(open("/workspace/many", "w"))\nverdict = attempt(more)\nheld.clear()`,
    expect: "refused",
  },
  {
    name: "prints without end",
    code: "while True: print('x' * 10_000)",
    expect: "output_limit",
  },
  { name: "runs without end", code: "while True: pass", expect: "timeout" },
  asks(
    "sees more processors than it may use",
    `len(os.sched_getaffinity(0)) <= host["processors"]`,
    true,
    wasmOnly("AttributeError", "it has one thread and no such function"),
  ),
  attacks(
    "locks memory in place",
    `1 / (__import__("ctypes").CDLL(None).mlockall(3) == 0)`,
    wasmOnly("done", "the call does nothing"),
  ),
  asks(
    "writes a core file",
    `__import__("resource").getrlimit(__import__("resource").RLIMIT_CORE)[1] <= 1`,
    true,
    wasmOnly("ModuleNotFoundError", noProcesses),
  ),
];

const environment: readonly Probe[] = [
  asks(
    "reads an environment variable of the host",
    `host["variable"] in os.environ or host["secret"] in str(dict(os.environ))`,
    false,
  ),
  asks(
    "has environment variables other than the documented ones",
    `sorted(k for k in os.environ if k not in ("PATH", "HOME", "LANG", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "OPENBLAS_NUM_THREADS", "GLIBC_TUNABLES", "MPLBACKEND", "GREETING", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"))`,
    [],
  ),
  asks("sees the environment variable of its policy", `os.environ.get("GREETING")`, "hello"),
  asks(
    "has the host name `cell`",
    `socket.gethostname()`,
    "cell",
    wasmOnly("emscripten", "a name that the interpreter makes up"),
  ),
  asks(
    "learns the name of the host",
    `[n for n in host["names"] if n in text_of("/etc/hostname", "/etc/hosts", "/proc/sys/kernel/hostname", "/etc/passwd", "/etc/group")]`,
    [],
  ),
  asks(
    "learns the host's name servers",
    `[line for line in text_of("/etc/resolv.conf").splitlines() if line.startswith(("nameserver", "search", "domain"))]`,
    [],
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
  asks(
    "learns the path of its control group",
    // with cgroups v1, Podman makes no cgroup namespace: the container's own random id is visible
    `[line for line in text_of("/proc/self/cgroup").splitlines() if not __import__("re").match(r"/$|(/libpod_parent|/machine.slice)?/libpod-[0-9a-f]{64}(.scope)?$", line.split(":")[2])]`,
    [],
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

/** Every probe, with the verdict of all tiers; an exception states its reason. */
export const probes: readonly Probe[] = [
  ...network,
  ...files,
  ...processes,
  ...environment,
  ...interpreter,
  ...resources, // last, because they may ruin the session
];
