// Starts the interpreter's thread like the product, except for the last step: it evaluates the attack instead of serving a
// channel. It lives with the tests, so no option or message of the product can reach it.
import { readFileSync } from "node:fs";
import vm from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { hostFunctions } from "./host-functions.js";
import { ignoreWhatSurfaces, lockDownOuterRealm } from "./lock-down.js";
import { openRealm } from "./realm.js";
import { createRing, OutputCounters, RingWriter } from "./ring.js";

const handOver = "import js, pyodide_js\njs.Object.stolenByPython = pyodide_js";
const attack = readFileSync(new URL("./attack.js", import.meta.url), "utf8");

ignoreWhatSurfaces();
const ring = createRing();
const sent = [];
const host = hostFunctions({
  ring: new RingWriter(ring, () => {}),
  counters: new OutputCounters(ring),
  died: () => sent.push("died"),
});
const realm = openRealm(host, { ...workerData, usesSnapshot: false, makesSnapshot: false });
const problem = await realm.inner.load();
if (problem !== "") throw new Error(problem);
realm.inner.attach();
realm.inner.interruptBuffer();
lockDownOuterRealm();

const encoder = new TextEncoder();
const dispatch = (header, text) =>
  realm.inner.dispatch(header.id ?? 0, JSON.stringify(header), text && realm.toInner(encoder.encode(text)));
dispatch({ t: "start", env: {}, path: [], preload: [] });
dispatch({ t: "run", id: 1, language: "python" }, handOver);

new vm.Script(attack, { filename: "attack.js" }).runInContext(realm.context);
const wait = setInterval(() => {
  const report = vm.runInContext("globalThis.attackReport", realm.context);
  if (typeof report !== "string") return;
  clearInterval(wait);
  parentPort.postMessage({ report, isOuterClean: {}.polluted === undefined && [...[1, 2]].length === 2, sent });
}, 20);
