// npm run bench [-- --json] [-- NAME…]: prints every figure as a ratio with its bound. Exits with 1 if one misses its bound.
import { bulk, output } from "./bulk.js";
import { cli } from "./cli.js";
import { coldStart } from "./cold-start.js";
import { completion } from "./completion.js";
import { containers } from "./containers.js";
import { egress } from "./egress.js";
import { exactDisk } from "./exact-disk.js";
import { hostCalls } from "./host-calls.js";
import { hostileTenant } from "./hostile-tenant.js";
import { http } from "./http.js";
import { manySessions } from "./many-sessions.js";
import { mcp } from "./mcp.js";
import { rlm } from "./rlm.js";
import { checkpoints, manyLives, pool } from "./sessions.js";
import { underAttack } from "./under-attack.js";
import { warmRun } from "./warm-run.js";
import { wasmStart } from "./wasm-start.js";

const suites = {
  cli,
  "cold-start": coldStart,
  "warm-run": warmRun,
  bulk,
  output,
  "many-sessions": manySessions,
  "under-attack": underAttack,
  "wasm-start": wasmStart,
  pool,
  "exact-disk": exactDisk,
  checkpoints,
  "many-lives": manyLives,
  completion,
  "host-calls": hostCalls,
  rlm,
  mcp,
  containers,
  http,
  "hostile-tenant": hostileTenant,
  egress,
};
const words = process.argv.slice(2);
const asJson = words.includes("--json");
const names = words.filter((word) => word in suites);
const unknown = words.filter((word) => word !== "--json" && !(word in suites));

if (unknown.length > 0) {
  console.error(`unknown benchmark: ${unknown.join(", ")}; use one or more of: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

const rows = [];
for (const name of names.length > 0 ? names : Object.keys(suites)) {
  if (!asJson) console.error(`measuring ${name} …`);
  rows.push(...(await suites[name]()));
}
if (asJson) console.log(JSON.stringify(rows, null, 2));
else for (const line of rows) console.log(format(line));
process.exitCode = rows.every((line) => line.holds) ? 0 : 1;

function format({ what, figure, bound, holds, detail }) {
  const limits = [
    ...(bound.atMost === undefined ? [] : [`<= ${bound.atMost}`]),
    ...(bound.atLeast === undefined ? [] : [`>= ${bound.atLeast}`]),
  ];
  const [verdict, limit] = limits.length > 0 ? [holds ? "ok  " : "MISS", limits.join(", ")] : ["    ", "no bound"];
  return `${verdict}  ${what.padEnd(48)} ${figure.toFixed(3).padStart(8)}  (${limit})  ${detail}`;
}
