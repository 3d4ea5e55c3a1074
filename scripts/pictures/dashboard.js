// npm run pictures:dashboard: starts a service with demo sessions, runs real code in them, and takes pictures of the dashboard with
// Chromium (half a minute; Linux, bubblewrap, chromium; pandas and matplotlib of the system's Python if they are there).
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { demoRuns, otherSessions } from "./dashboard-demo.js";

const launcher = fileURLToPath(new URL("../../bin/codecell.js", import.meta.url));
const folder = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
const maxBytes = 120 * 1024;
const session = "sales-report";

/** Which part of the page each picture shows; `ready` is what it waits for. */
const pictures = [
  { name: "dashboard-sessions", at: "/sessions", ready: "tbody tr:nth-child(5)", colorScheme: "light" },
  { name: "dashboard-timeline", at: `/sessions/${session}/timeline`, ready: "img", colorScheme: "light", height: 1000 },
  { name: "dashboard-checkpoints", at: `/sessions/${session}/checkpoints`, ready: ".lineage li", colorScheme: "light" },
  { name: "dashboard-receipt", at: `/sessions/${session}/receipt`, ready: "tbody tr", colorScheme: "light" },
  { name: "dashboard-dark", at: `/sessions/${session}/limits`, ready: ".plot canvas", colorScheme: "dark" },
];

const directory = await mkdtemp(join(tmpdir(), "codecell-pictures-"));
const token = `demo-${randomBytes(24).toString("hex")}`;
const policy = join(directory, "policy.yaml");
await writeFile(policy, "net:\n  enabled: true\n  allowlist: [packages.example]\n");
const service = spawn(
  process.execPath,
  [
    launcher,
    "serve",
    "--port",
    "0",
    "--json",
    "--runner",
    "process",
    "--policy",
    policy,
    "--state-dir",
    join(directory, "state"),
  ],
  // the system's Python: it has pandas and matplotlib, if any has
  {
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", HOME: directory, CODECELL_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  },
);
try {
  const url = await urlOf(service);
  await fill(url);
  await takeAll(url);
} finally {
  service.kill("SIGTERM");
  await new Promise((resolve) => service.once("exit", resolve));
  await rm(directory, { recursive: true });
}

/** The address that the service prints when it listens. */
function urlOf({ stdout }) {
  return new Promise((resolve, reject) => {
    let text = "";
    stdout.on("data", (chunk) => {
      text += chunk;
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (url) resolve(url);
    });
    stdout.once("end", () => reject(new Error(`the service did not start: ${text}`)));
  });
}

async function call(url, path, body) {
  const response = await fetch(`${url}/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

async function fill(url) {
  for (const [name, codes] of Object.entries(otherSessions)) {
    await call(url, "/sessions", { session_id: name });
    for (const code of codes) await call(url, `/sessions/${name}/runs`, { code });
  }
  await call(url, "/sessions", { session_id: session });
  for (const step of demoRuns) {
    if (step.code) await call(url, `/sessions/${session}/runs`, { code: step.code });
    if (step.checkpoint) await call(url, `/sessions/${session}/checkpoints`, { name: step.checkpoint });
    if (step.rollback) await call(url, `/sessions/${session}/checkpoints/${step.rollback}/rollback`, {});
    if (step.fork) await call(url, `/sessions/${session}/fork`, { session_id: step.fork });
  }
}

async function takeAll(url) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    for (const { name, at, ready, colorScheme, height = 720 } of pictures) {
      const page = await browser.newPage({ viewport: { width: 1120, height }, colorScheme });
      await page.goto(`${url}/#token=${token}`);
      await page.goto(`${url}/#${at}`);
      await page.locator(ready).first().waitFor();
      await page.locator(".connection.live").waitFor();
      await page.waitForTimeout(2500); // a few samples for the curves
      await page.evaluate("scrollTo(0, 0)"); // the timeline follows its end
      // frames load when they come into view
      if (name === "dashboard-timeline") await page.frameLocator("iframe").first().locator("table").waitFor();
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path, animations: "disabled" });
      const { size } = await stat(path);
      console.error(`${name}.png: ${Math.round(size / 1024)} KiB`);
      if (size > maxBytes) throw new Error(`${name}.png is larger than ${maxBytes} bytes`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}
