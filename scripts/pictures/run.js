// npm run pictures: records, measures and draws (two minutes). `-- --draw` draws from the stored data, `-- --check` checks
// that the pictures match the stored data.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { badgeSvg } from "./badge-svg.js";
import { latencySvg } from "./latency-svg.js";
import { terminalSvg } from "./terminal-svg.js";

const { values } = parseArgs({ options: { draw: { type: "boolean" }, check: { type: "boolean" } } });
const folder = new URL("../../docs/pictures/", import.meta.url);

const pictures = [
  {
    name: "attack",
    obtain: async () => (await import("./record.js")).recordAttack(),
    draw: (recording) =>
      terminalSvg(recording, {
        title: "codecell stops an attack, and the receipt says by what",
        description: recording.steps.map(({ command }) => command).join("; "),
      }),
  },
  {
    name: "latency",
    obtain: measure,
    draw: (figures) =>
      latencySvg(figures, {
        title: "Latency of codecell, python3 and Docker",
        description: JSON.stringify({ first: figures.first, next: figures.next }),
      }),
  },
];

/** Badges with values from package.json. */
const badges = {
  license: ({ license }) => ({ label: "license", value: license }),
  node: ({ engines }) => ({ label: "node", value: engines.node }),
  dependencies: ({ dependencies }) => ({
    label: "runtime dependencies",
    value: String(Object.keys(dependencies).length),
  }),
};

for (const { name, obtain, draw } of pictures) {
  const data = new URL(`${name}.json`, folder);
  if (!values.draw && !values.check) {
    console.error(`obtaining ${name} …`);
    await writeFile(data, `${JSON.stringify(await obtain(), null, 2)}\n`);
  }
  await keep(name, draw(JSON.parse(await readFile(data, "utf8"))));
}
const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
for (const [name, badge] of Object.entries(badges)) await keep(`badge-${name}`, badgeSvg(badge(manifest)));

/** Writes a picture or, with `--check`, reports that the stored picture differs. */
async function keep(name, drawn) {
  const picture = new URL(`${name}.svg`, folder);
  if (!values.check) return await writeFile(picture, drawn);
  if ((await readFile(picture, "utf8")) === drawn) return;
  console.error(`docs/pictures/${name}.svg does not match its data. Run: npm run pictures -- --draw`);
  process.exitCode = 1;
}

async function measure() {
  const { latency } = await import("../../bench/latency.js");
  const { openDocker } = await import("./docker.js");
  const load = rounded(loadavg()[0]);
  const { engine, lacking, close } = await openDocker();
  if (!engine) console.error(`without Docker: ${lacking}`);
  try {
    const measured = await latency(engine);
    const docker = engine && (await engine.client.json({ path: "/version" })).Version;
    return {
      date: new Date().toISOString().slice(0, 10),
      machine: {
        ...{ cpus: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), load, os: `Linux ${short(release())}` },
        versions: {
          ...{ Node: short(process.versions.node), Python: pythonVersion() },
          ...(docker ? { Docker: short(docker) } : {}),
        },
      },
      first: roundedAll(measured.first),
      next: roundedAll(measured.next),
    };
  } finally {
    await close();
  }
}

function pythonVersion() {
  return short(execFileSync("/usr/bin/python3", ["--version"], { encoding: "utf8" }).replace("Python ", "").trim());
}

/** 3.11.2 is 3.11 here. */
function short(version) {
  return version.split(".").slice(0, 2).join(".");
}

function roundedAll(figures) {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, rounded(value)]));
}

function rounded(value) {
  return Number(value.toPrecision(3));
}
