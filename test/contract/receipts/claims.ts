import { type Attack, type ClaimTable, claim } from "./attacked.ts";
import { buffersHeldToo } from "./buffer-attacks.ts";
import * as cell from "./cell-attacks.ts";
import * as host from "./host-attacks.ts";
import * as calls from "./host-call-attacks.ts";
import * as models from "./model-attacks.ts";
import * as network from "./network-attacks.ts";

const inMemory = {
  os: "files exist only in memory; bubblewrap's mount namespace has only the runtime's own files",
  runtime: "files exist only in memory; no function of the context can reach the host's files",
} as const;
const noSockets = {
  os: "the context has no sockets; bubblewrap's network namespace has no interfaces",
  runtime: "the context has no sockets",
} as const;
/** How connections reach the proxy. */
const carriers = ["the proxy accepts on the cell's own socket", "connections travel on the cell's channel"];
const emptyNetworks = [
  "own network namespace with nothing but loopback",
  "network mode none: nothing but loopback",
  "a network namespace of the cell's own with nothing but loopback, which its first process checks before it runs code",
];
const counted = "counted in the proxy; at the limit connections are closed, and new ones refused";
const runaway = "a run that prints 16 times as much, and over 64MiB, is interrupted";
const watchedMemory =
  "sum of resident memory and socket buffers every 20 ms, RLIMIT_DATA for each process; pipes and other objects of the OS are not counted";
const insideMemory = "sum of resident memory every 20 ms, RLIMIT_DATA for each process";
const socketsEnded = "the supervisor ends a run that has more than {size} in them";
/** How the memory limit counts the buffers of sockets: cgroup v2, v1, and v1 without a limit for them. */
const socketBuffers = [
  `buffers of connections count once they are accepted, and ${socketsEnded}`,
  `buffers of TCP and UDP sockets have a limit of their own, {size}, and ${socketsEnded}`,
  `buffers of TCP and UDP sockets are not counted, but ${socketsEnded}`,
];
const filesInMemory = "together with {size} for files in memory";
const ownProcesses = "together with {count} for codecell's own processes";
/** With a network there is more, and with secrets even more. */
const moreVariables = [
  " and settings of libraries",
  ", settings of libraries and settings of the proxy",
  ", settings of libraries, settings of the proxy and placeholders of net.secrets",
];

const withoutNetwork = [
  claim("os", "no network", network.noNetwork),
  claim("os", "not used: the cell has no network", network.noNetwork),
  claim("os", "own network namespace, without a proxy", network.noNetwork),
  claim("os", noSockets.os, network.noNetwork),
  claim("runtime", noSockets.runtime, network.noNetwork),
];
const memoryOnly = [claim("os", inMemory.os, cell.onlyMemory), claim("runtime", inMemory.runtime, cell.onlyMemory)];
const unrecorded = [
  claim("host", "nothing is recorded", host.nothingRecorded),
  claim("nobody", "not enforced: this program turned the audit off", host.nothingRecorded),
];
const unpruned = [claim("nobody", "not enforced: the program's own audit decides what it keeps", host.nothingPruned)];
const noModels = [
  claim("host", "the cell has no function that calls a model", calls.noModelFunctions),
  claim(
    "host",
    "not used: no model is set up here, and the cell has no function that calls one",
    calls.noModelFunctions,
  ),
];
const noTools = [
  claim("host", "the cell has no function that calls a tool of an MCP server", calls.noToolFunctions),
  claim(
    "host",
    "not used: no other MCP server is set up here, and the cell has no function that calls one",
    calls.noToolFunctions,
  ),
];
const prunes = "whole files of a chain, oldest first; the audit says which";

/**
 * Every rule, everything that a receipt may say about who holds it, and the attack that would show that it is not so. A rule
 * without a line does not compile, and a row with other words fails.
 */
export const claims: ClaimTable = {
  "isolation.minimum": [
    claim(
      "os",
      "namespaces by bubblewrap {version}, {layout} layout",
      cell.ownNamespaces("mnt", "pid", "net", "ipc", "user", "uts"),
    ),
    claim(
      "os",
      "namespaces and filter by sandbox-runtime {version}, codecell's filter on top",
      cell.ownNamespaces("mnt", "pid", "net", "user"),
    ),
    claim("os", "namespaces, by {engine} {version}", cell.ownNamespaces("mnt", "pid", "net", "ipc", "uts")),
    claim("os", "namespaces of a pod, by Kubernetes {version}", cell.ownNamespaces("mnt", "pid", "net", "ipc", "uts")),
    claim("os", "an OS kernel of its own, by {engine} {version} with the runtime {runtime}", cell.ownOsKernel),
    claim("runtime", "Pyodide in an empty V8 context, in a process of its own", cell.emptyContext),
  ],
  "fs.workspace": [
    claim("os", "bind mount of the session's own directory", cell.ownDirectory),
    claim("os", "bind mount of the session's own directory, at its own path", cell.ownDirectory),
    claim("os", "bind mount in the cell's own mount namespace", cell.namedDirectory),
    claim("os", "bind mount", cell.namedDirectory),
    claim("os", "bind mount at its own path", cell.namedDirectory),
    claim("os", "private tmpfs, removed when the session ends", cell.privateTmpfs),
    claim("os", "private tmpfs of the pod, removed when the session ends", cell.privateTmpfs),
    ...memoryOnly,
  ],
  "fs.deps": [
    claim("os", "nothing is mounted", cell.nothingMounted),
    claim("os", "read-only bind mount", cell.readOnlyDeps),
    ...memoryOnly,
  ],
  "fs.mounts": [
    claim("os", "nothing is mounted", cell.nothingMounted),
    claim("os", "bind mounts, nosuid and nodev", cell.boundMounts({ withOptions: true })),
    claim("os", "bind mounts", cell.boundMounts({ withOptions: false })),
    ...memoryOnly,
  ],
  "fs.deny": [
    claim("os", "matching entries of every mount are hidden when the cell starts", cell.hiddenEntries),
    claim("os", "nothing is mounted", cell.nothingMounted),
    ...memoryOnly,
  ],
  "fs.load": [
    claim("host", "the real path is checked against fs.load and fs.deny before the file is read", cell.checkedLoads),
  ],
  "net.enabled": [
    ...emptyNetworks.map((empty) => claim("os", empty, network.noNetwork)),
    ...withoutNetwork,
    ...emptyNetworks.flatMap((empty) =>
      carriers.map((carrier) => {
        const only = `only through the host's proxy, at 127.0.0.1:3128; apart from it, ${empty}; ${carrier}`;
        return claim("proxy", only, network.onlyTheProxy);
      }),
    ),
  ],
  "net.allowlist": [
    ...withoutNetwork,
    claim(
      "proxy",
      "checks host name, port and TLS server name; the host resolves names, and only to public addresses",
      network.onlyListedHosts,
    ),
  ],
  "net.deny": [...withoutNetwork, claim("proxy", "checked before the allowlist", network.deniedFirst)],
  "net.inspect": [
    ...withoutNetwork,
    claim("proxy", "TLS is not decrypted", network.notDecrypted),
    claim(
      "proxy",
      "decrypts TLS with a certificate authority of this session that the cell trusts; verifies the servers",
      network.decrypted,
    ),
  ],
  "net.rules": [
    ...withoutNetwork,
    claim("proxy", "every request to an allowed host", network.everyRequest),
    claim(
      "proxy",
      "checks each request; refuses ambiguous paths, and TLS that is not decrypted",
      network.checkedRequests,
    ),
  ],
  "net.secrets": [
    ...withoutNetwork,
    claim("proxy", "none", network.noSecrets),
    claim(
      "proxy",
      "the cell has a placeholder; the host inserts the value, and removes it from responses",
      network.placeholders,
    ),
  ],
  "net.connections": [...withoutNetwork, claim("proxy", "more are refused", network.connectionsCounted)],
  "net.requests": [
    ...withoutNetwork,
    claim("proxy", "more are refused; a burst may have four times as many", network.requestsCounted),
  ],
  "net.sent": [...withoutNetwork, claim("proxy", counted, network.sentCounted)],
  "net.received": [...withoutNetwork, claim("proxy", counted, network.receivedCounted)],
  "proc.timeout": [
    claim(
      "supervisor watchdog",
      "interrupt, then SIGKILL; if the supervisor fails, the host kills the {cell}",
      cell.endedInTime,
    ),
    claim(
      "supervisor watchdog",
      "interrupts the run, and kills the interpreter's thread 0.5 s later",
      cell.endedInTime,
    ),
  ],
  "proc.cpus": [
    claim("os", "cgroup v2 cpu.max", cell.processorShare),
    claim("os", "cgroup v1 cpu cpu.cfs_quota_us", cell.processorShare),
    claim("os", "cpu quota of the container, cgroup {group}", cell.processorShare),
    claim("os", "cpu quota of the container, of {count} available, cgroup {group}", cell.processorShare),
    claim("os", "cpu limit of the pod, a cgroup of its node", cell.processorShare),
    claim("os", "core affinity; the system call filter blocks changes to it", cell.pinnedCores),
    claim("runtime", "one interpreter thread; code cannot start another", cell.oneThread),
  ],
  "proc.memory": [
    ...socketBuffers.flatMap((sockets) => [
      ...["cgroup v2 memory.max", "cgroup v1 memory memory.limit_in_bytes"].map((file) =>
        claim("os", `${file}, ${filesInMemory}; ${sockets}`, buffersHeldToo(cell.memoryHeld({ isCounted: true }))),
      ),
      ...["", " without swap"].map((swap) =>
        claim(
          "os",
          `memory limit of the container${swap}, cgroup {group}, ${filesInMemory}; ${sockets}`,
          buffersHeldToo(cell.memoryHeld({ isCounted: false })),
        ),
      ),
    ]),
    ...["", `; ${filesInMemory}`].map((rest) =>
      claim(
        "supervisor watchdog",
        `${watchedMemory}${rest}`,
        buffersHeldToo(cell.memoryHeld({ isCounted: false, mayRaise: true })),
      ),
    ),
    claim(
      "supervisor watchdog",
      `${insideMemory}; the container's own limit is {size}, with {size} for files in memory and {size} for the cell's OS kernel`,
      cell.memoryHeld({ isCounted: false, mayRaise: true }),
    ),
    claim(
      "supervisor watchdog",
      "sum of resident memory and socket buffers every 20 ms; the pod's own limit, a cgroup of its node, is {size}, with {size} for files in memory",
      cell.memoryHeld({ isCounted: false, mayRaise: true }),
    ),
    ...["", "; RLIMIT_DATA {size}"].map((rest) =>
      claim(
        "runtime",
        `WebAssembly memory maximum {size}; the interpreter is killed when its process grows by {size}, files in memory included${rest}`,
        cell.heapHeld,
      ),
    ),
  ],
  "proc.pids": [
    claim("os", `cgroup v2 pids.max, ${ownProcesses}`, cell.processesCounted),
    claim("os", `cgroup v1 pids pids.max, ${ownProcesses}`, cell.processesCounted),
    claim("os", `pids limit of the container, cgroup {group}, ${ownProcesses}`, cell.processesCounted),
    claim("os", "RLIMIT_NPROC in the cell's own user namespace", cell.processesCounted),
    claim(
      "os",
      `RLIMIT_NPROC in the cell's own OS kernel, ${ownProcesses}; a count by the supervisor, and a limit of the container`,
      cell.processesCounted,
    ),
    claim(
      "os",
      `RLIMIT_NPROC of a uid that no other cell of this gateway has, ${ownProcesses}; a limit of the node's kubelet for pods holds too`,
      cell.processesCounted,
    ),
    claim("runtime", "code cannot start processes or threads", cell.nothingStarts),
  ],
  "proc.files": [
    claim("os", "RLIMIT_NOFILE for each process", cell.filesCounted),
    claim("runtime", "counted in the virtual file system; no open file is a descriptor of the host", cell.filesCounted),
  ],
  "proc.disk": [
    ...(
      [
        ["", (attack: Attack) => attack],
        ["; files in writable mounts are not counted", cell.alsoUncounted],
      ] as const
    ).flatMap(([mounts, attackedToo]) => {
      const [each, noDeleted] = ["RLIMIT_FSIZE for each file", "but not deleted files that are still open"];
      return [
        claim(
          "host watchdog",
          `measures the directory, and deleted files that are still open, while code runs; ${each}${mounts}`,
          attackedToo(cell.diskWatched({ deleted: true })),
        ),
        ...["", "; files in memory elsewhere by the supervisor"].map((rest) =>
          claim(
            "host watchdog",
            `measures the directory while code runs, ${noDeleted}; ${each}${rest}${mounts}`,
            attackedToo(cell.diskWatched({ elsewhere: rest !== "" })),
          ),
        ),
        claim(
          "os",
          `size of the session's own ext4 file system on a loop device, with at most {count} files; deleted files count${mounts}`,
          attackedToo(cell.diskFull),
        ),
        claim(
          "os",
          `size limit of the tmpfs; each cell checks it before it runs code; the supervisor counts each entry as at least 4 KiB${mounts}`,
          attackedToo(cell.podDiskFull),
        ),
        claim("os", `size limit of the tmpfs${mounts}`, attackedToo(cell.tmpfsFull({ countsFiles: false }))),
        claim("os", `size and inode limit of the tmpfs${mounts}`, attackedToo(cell.tmpfsFull({ countsFiles: true }))),
      ];
    }),
    claim("runtime", "quota in the virtual file system; files live in memory, under the memory limits", cell.diskQuota),
  ],
  "proc.exactDisk": [
    claim("host", "not requested: the row of proc.disk says who enforces that limit", cell.namesAnother),
    claim("os", "each session has a file system of its own, in an image on a loop device", cell.diskFull),
    claim("os", "the workspace is a tmpfs of this size", cell.tmpfsFull({ countsFiles: false })),
    claim("runtime", "a write beyond the quota of the virtual file system fails", cell.diskQuota),
  ],
  "proc.output": [
    claim("supervisor watchdog", `the middle of a longer output is cut and counted; ${runaway}`, cell.outputCut),
    claim(
      "runtime",
      `the middle of a longer output is cut and counted outside the interpreter; ${runaway}`,
      cell.outputCut,
    ),
  ],
  "proc.background": [
    claim("supervisor watchdog", "processes that a run leaves behind are killed", cell.nothingLeft),
    claim("supervisor watchdog", "processes keep running until the session ends", cell.leftUntilClose),
    claim("runtime", "code cannot start processes", cell.nothingStarts),
  ],
  env: [
    ...moreVariables.flatMap((more) => {
      const [which, attack] = [`only these, PATH, HOME, LANG${more}`, cell.onlyTheseVariables("PATH", "HOME", "LANG")];
      return [
        claim("os", `the environment has ${which}`, attack),
        claim("supervisor watchdog", `the interpreter's environment has ${which}`, attack),
      ];
    }),
    claim(
      "supervisor watchdog",
      "the interpreter's environment has only these, PATH, HOME, LANG, TMPDIR and settings of libraries; sandbox-runtime is started without the host's",
      cell.onlyTheseVariables("PATH", "HOME", "LANG", "TMPDIR"),
    ),
    claim(
      "runtime",
      "the interpreter's environment has only these, HOME, LANG, TMPDIR, TZ and settings of libraries; its process has none",
      cell.onlyTheseVariables("HOME", "LANG", "TMPDIR", "TZ"),
    ),
  ],
  "session.recovery": [
    claim("supervisor watchdog", "a parked copy-on-write copy of the interpreter", cell.comesBack),
    claim("supervisor watchdog", "no copy is kept", cell.startsAfresh),
    claim(
      "runtime",
      "restores variables from a snapshot that is taken in idle time; results say which and from when",
      cell.comesBack,
    ),
    claim(
      "runtime",
      "no snapshot is kept: after a crash the interpreter starts fresh, and the result says what was lost",
      cell.startsAfresh,
    ),
  ],
  "session.idle": [claim("host", "a timer for each session", host.endsWhenIdle)],
  "session.lifetime": [claim("host", "a timer for each session", host.endsWithAge)],
  "session.limit": [claim("host", "sessions of this process are counted; the next one is refused", host.oneTooMany)],
  "session.persist": [
    claim("host", "nothing is kept on disk after the session", host.nothingKept),
    claim("host", "state directory of this user, files of mode 0600", host.keptOnDisk),
    claim(
      "host",
      "state directory of this user, files of mode 0600: variables and history; files of the cell as at the last save",
      host.keptOnDisk,
    ),
  ],
  "session.checkpoints": [
    claim("host", "counted by the session; the memory counts against the cell", cell.checkpointsCounted),
    claim("runtime", "not supported: WebAssembly has no fork, so a request for one fails", cell.noCheckpoints),
  ],
  "session.undo": [
    claim("host", "no copy is kept before a run", cell.nothingToUndo),
    claim(
      "host",
      "a copy before each run, the oldest is dropped; the memory counts against the cell",
      cell.lastRunsUndone,
    ),
    claim("runtime", "not supported: WebAssembly has no fork, so an undo fails", cell.nothingToUndo),
  ],
  "session.pool": [
    claim("host", "no cell waits", host.noCellWaits),
    claim("host", "cells of this policy only, each used once", host.cellsWait),
  ],
  "kernel.preload": [
    claim("supervisor watchdog", "imported before the first run", cell.preloaded),
    claim("runtime", "imported before the first run", cell.preloaded),
    claim("supervisor watchdog", "nothing to import", cell.notPreloaded),
    claim("runtime", "nothing to import", cell.notPreloaded),
  ],
  "kernel.python": [
    claim("os", "interpreter and libraries mounted read-only", cell.readOnlyPython),
    claim("os", "interpreter and libraries read-only, at their own place", cell.readOnlyPython),
    claim("os", "the image's python3", cell.imagePython),
    claim("runtime", "Pyodide's Python", cell.runtimePython),
  ],
  "kernel.image": [
    claim("os", "uses the host's interpreter, not an image", cell.imagesRefused),
    claim("runtime", "uses Pyodide's Python, not an image", cell.imagesRefused),
    claim("os", "root file system of {image}, read-only", cell.readOnlyImage),
  ],
  "kernel.packages": [
    claim("os", "nothing is installed", cell.nothingInstalled),
    claim("runtime", "nothing is installed", cell.nothingInstalled),
  ],
  "llm.models": [
    ...noModels,
    claim("host", "the host's gateway refuses other models before anything is sent", models.otherModelsRefused),
  ],
  "llm.calls": [
    ...noModels,
    claim(
      "host",
      "the host counts the calls of each session, and those below each sub-agent; more are refused",
      models.modelCallsCounted,
    ),
  ],
  "llm.tokens": [
    ...noModels,
    claim(
      "host",
      "the host's gateway reserves the worst case of a call before it is sent; more is refused",
      models.tokensReserved,
    ),
  ],
  "llm.usd": [
    ...noModels,
    claim(
      "host",
      "the host's gateway reserves the worst case of a call before it is sent; more is refused",
      models.moneyReserved,
    ),
    claim("host", "money is not limited; calls and tokens are", models.moneyUnlimited),
  ],
  "llm.depth": [...noModels, claim("host", "the host starts no sub-agent below this depth", models.depthLimited)],
  "llm.concurrency": [...noModels, claim("host", "the host's gateway lets further calls wait", models.callsWait)],
  "llm.promptChars": [
    ...noModels,
    claim("host", "the host's gateway refuses longer prompts before anything is sent", models.promptsMeasured),
  ],
  "llm.callTimeout": [...noModels, claim("host", "the host cancels the request", models.requestsCancelled)],
  "llm.timeout": [...noModels, claim("host", "the host cancels the whole tree", models.treeCancelled)],
  "tools.allow": [
    ...noTools,
    claim(
      "host",
      "the cell has functions for these tools only, and the host checks each call; a glob permits read-only tools",
      calls.onlyPermittedTools,
    ),
  ],
  "tools.calls": [
    ...noTools,
    claim("host", "the host counts the calls of each run; more are refused", calls.toolCallsCounted),
  ],
  "tools.timeout": [...noTools, claim("host", "the host cancels the call", calls.toolsCancelled)],
  "tools.arguments": [
    ...noTools,
    claim("host", "the host measures them before anything is sent", calls.argumentsMeasured),
  ],
  "tools.result": [
    ...noTools,
    claim("host", "the host measures it; a larger one is not passed on", calls.resultsMeasured),
  ],
  "audit.enabled": [
    claim("host", "hash-chained files of mode 0600", host.recordedOnDisk),
    claim("host", "the program's own audit gets every event", host.programRecords),
    ...unrecorded,
  ],
  "audit.code": [
    claim("host", "text and sha256", host.codeIs("full")),
    claim("host", "sha256 alone", host.codeIs("hash")),
    ...unrecorded,
  ],
  "audit.durable": [
    claim("host", "runs start and results are given after fdatasync", host.onDiskFirst),
    claim("host", "written within milliseconds", host.soonOnDisk),
    claim("host", "the program's own audit decides when it writes", host.programRecords),
    ...unrecorded,
  ],
  "audit.keep": [claim("host", prunes, host.pruned("audit.keep")), ...unpruned, ...unrecorded],
  "audit.age": [claim("host", prunes, host.pruned("audit.age")), ...unpruned, ...unrecorded],
};
