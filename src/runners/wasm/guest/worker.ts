/** Entry of the interpreter's thread: the outer realm, which has the host functions and the empty context. */
import { parentPort, workerData } from "node:worker_threads";
import { AnswerReader } from "./answers.ts";
import { hostFunctions } from "./host-functions.ts";
import { ignoreWhatSurfaces, lockDownOuterRealm } from "./lock-down.ts";
import { OutputTail } from "./output-tail.ts";
import { type OpenRealm, openRealm } from "./realm.ts";
import { OutputCounters, RingWriter } from "./ring.ts";
import { StdinReader } from "./stdin.ts";
import type { FromInterpreter, ThreadInput, ToInterpreter } from "./thread-messages.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a worker thread");
const input = workerData as ThreadInput;
const say = (message: FromInterpreter) => port.postMessage(message);

ignoreWhatSurfaces();
const stdin = new StdinReader(input.stdin, (run, bytes) => say({ kind: "read", run, bytes }));
const answers = new AnswerReader(input.answers, (_run, bytes) => say({ kind: "taken", bytes }));
try {
  const host = hostFunctions({
    ring: new RingWriter(input.ring, () => say({ kind: "wake" })),
    counters: new OutputCounters(input.ring),
    tail: new OutputTail(input.tail),
    died: (reason) => say({ kind: "died", reason }),
    read: (into) => stdin.read(into),
    nextAnswer: () => answers.next(),
    takeAnswer: (header, body) => answers.take(header, body),
  });
  const realm = openRealm(host, { ...input, makesSnapshot: false });
  const problem = await realm.inner.load();
  if (problem !== "") throw new Error(problem);
  const python = realm.inner.attach();
  const interrupt = realm.inner.interruptBuffer();
  lockDownOuterRealm();
  serve(realm);
  say({ kind: "loaded", python, interrupt });
} catch (error) {
  // No user code has run yet, so this error comes from codecell or Pyodide and can be trusted.
  say({ kind: "failed", reason: error instanceof Error ? error.message : "the interpreter did not load" });
}

function serve({ inner, toInner }: OpenRealm): void {
  port?.on("message", (message: ToInterpreter) => {
    if (message.kind === "cancel") inner.cancel(message.id);
    else if (message.kind === "file") inner.serveFile(message.header, message.body && toInner(message.body));
    else {
      stdin.begin(message.hasStdin ? message.id : undefined);
      answers.begin(message.id);
      inner.dispatch(message.id, message.header, message.body && toInner(message.body));
    }
  });
}
