import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parsePolicy } from "../dist/index.js";
import { removeTree } from "../dist/lib/files/remove-tree.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { LiveSessions } from "../dist/sessions/live-sessions.js";
import { SessionPackages } from "../dist/sessions/packages/session-packages.js";
import { interleave, ms, row, timed } from "./harness.js";

const launcher = fileURLToPath(new URL("../bin/codecell.js", import.meta.url));
const rounds = 7;

/** Ten wheels of fifty modules each, the first of which needs the others. */
const buildWheels = `
import base64, hashlib, sys, zipfile
for number in range(10):
    name = "bench%d" % number
    stem = name + "-1.0"
    needs = "".join("Requires-Dist: bench%d\\n" % one for one in range(1, 10)) if number == 0 else ""
    files = {name + "/__init__.py": "value = 1\\n" * 100}
    files.update({"%s/part%d.py" % (name, part): "value = %d\\n" % part * 200 for part in range(50)})
    files[stem + ".dist-info/METADATA"] = "Metadata-Version: 2.1\\nName: %s\\nVersion: 1.0\\n%s" % (name, needs)
    files[stem + ".dist-info/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: bench\\nTag: py3-none-any\\n"
    def digest(text): return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record = "".join("%s,sha256=%s,%d\\n" % (path, digest(text), len(text)) for path, text in files.items())
    files[stem + ".dist-info/RECORD"] = record + stem + ".dist-info/RECORD,,\\n"
    with zipfile.ZipFile(sys.argv[1] + "/" + stem + "-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in files.items(): wheel.writestr(path, text)
`;

/** Compares the start of a session whose packages are cached with one that has none. */
export async function packages() {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(directory, 0o711); // if we are root, cells run as another user and must be able to enter
  await promisify(execFile)("python3", ["-c", buildWheels, directory]);
  const server = await serveWheels(directory);
  const index = `http://127.0.0.1:${server.address().port}/simple/`;
  const env = { ...process.env, XDG_STATE_HOME: directory };
  const command =
    (...flags) =>
    () =>
      timed(() => finished([launcher, "run", "--runner", "process", ...flags, "-c", "1"], env));
  const rules = { install: ["bench0==1.0"], index: [index] };
  const [bare, full] = await Promise.all([open(directory, {}), open(directory, { kernel: { packages: rules } })]);
  const variants = {
    run: command(),
    runWith: command("--index-url", index, "--with", "bench0==1.0"),
    open: start(bare),
    openWith: start(full),
  };
  try {
    for (const measure of Object.values(variants)) await measure(); // resolves, downloads, starts templates
    server.close(); // from here on everything is cached
    const figures = await interleave(variants, rounds);
    const ratio = (what, one, other) =>
      row(what, figures[one] / figures[other], { atMost: 1.2 }, `${ms(figures[one])} / ${ms(figures[other])}`);
    return [
      ratio("codecell run, with cached packages / without", "runWith", "run"),
      ratio("session start, with cached packages / without", "openWith", "open"),
    ];
  } finally {
    await Promise.all([bare.close(), full.close()]);
    server.close();
    await removeTree(directory);
  }
}

function open(directory, input) {
  const policy = parsePolicy(input);
  const cached = new SessionPackages(policy.kernel.packages, join(directory, "codecell", "packages"));
  return LiveSessions.open({ policy, runners: [processRunner()], packages: cached });
}

function start(sessions) {
  return async () => {
    let session;
    const time = await timed(async () => {
      session = await sessions.openSession();
      await session.run("1");
    });
    await session.close();
    return time;
  };
}

async function serveWheels(directory) {
  const wheels = (await readdir(directory)).filter((name) => name.endsWith(".whl"));
  const { createHash } = await import("node:crypto");
  const server = createServer(async (request, response) => {
    const [, area, name] = request.url.split("/");
    if (area === "files") return response.end(await readFile(join(directory, name)));
    const file = wheels.find((wheel) => wheel.startsWith(`${name}-`));
    if (!file) return response.writeHead(404).end();
    const sha256 = createHash("sha256")
      .update(await readFile(join(directory, file)))
      .digest("hex");
    response.setHeader("content-type", "text/html");
    response.end(`<a href="/files/${file}#sha256=${sha256}">${file}</a>`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function finished(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (bytes) => {
    stderr += bytes;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
}
