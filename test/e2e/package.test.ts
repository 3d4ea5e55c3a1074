import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isThorough } from "../support/thorough.ts";
import { root } from "./codecell-process.ts";

const execute = promisify(execFile);
const description = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
const paths = Object.keys(description.exports).filter((path) => path !== "./package.json");
/** Export paths whose types need an optional peer. The peers are installed with the real clients, if at all. */
const peerOf: Readonly<Record<string, string>> = { "./agent-sdk": "@anthropic-ai/claude-agent-sdk" };
const clientModules = join(root, "test", "clients", "node_modules");
const hasPeers = existsSync(clientModules);

let directory: string;
let tarball: string;
let packed: string[];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-package-"));
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", directory];
  const [{ filename, files }] = JSON.parse((await execute("npm", pack, { cwd: root })).stdout);
  tarball = join(directory, filename);
  packed = files.map(({ path }: { path: string }) => path);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("the packed tarball", () => {
  test("contains the program, its kernel and its documents, and no tests or bytecode", () => {
    expect(packed).toEqual(
      expect.arrayContaining([
        ...["README.md", "CHANGELOG.md", "LICENSE", "bin/codecell.js", "docs/library.md", "images/python/Dockerfile"],
        ...["dist/index.d.ts", "dist/bundled/index.js", "dist/bundled/LICENSES.txt", "dist/runners/wasm/guest/main.js"],
        ...["python/codecell_kernel/__init__.py"],
      ]),
    );
    expect(packed.filter((path) => /\.test\.|^(?:src|test)\/|^python\/tests|__pycache__/.test(path))).toEqual([]);
  });

  test("contains everything that the README links to", async () => {
    const text = await readFile(join(root, "README.md"), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, path = ""]) => path);
    expect(links).toContain("docs/policy.md");
    const isPacked = (link: string) => packed.some((path) => path === link || path.startsWith(`${link}/`));
    expect(links.filter((link) => !isPacked(link))).toEqual([]);
  });

  test("contains no JavaScript twice, and each source map has the text of all its sources", async () => {
    const scripts = packed.filter((path) => path.startsWith("dist/") && path.endsWith(".js"));
    expect(scripts.filter((path) => !/^dist\/(?:bundled|dashboard|runners\/wasm\/guest)\//.test(path))).toEqual([]);
    const maps = packed.filter((path) => path.endsWith(".map"));
    expect(maps.length).toBeGreaterThan(10);
    for (const path of maps) {
      const { sources, sourcesContent } = JSON.parse(await readFile(join(root, path), "utf8"));
      expect({ path, texts: sourcesContent?.filter(Boolean).length }).toEqual({ path, texts: sources.length });
    }
  });

  test("passes publint without suggestions", async () => {
    const { stdout } = await tool("publint", "run", "--strict", tarball);
    expect(stdout).toContain("All good!");
  });

  // The programs below compile with every export path, for Node and for a bundler. This asks the same of each path alone.
  test.runIf(isThorough)("has types that resolve as ES modules and for bundlers on every export path", async () => {
    const flags = ["--profile", "esm-only", "--no-definitely-typed", "--format", "json"];
    const { analysis, problems } = JSON.parse((await tool("attw", tarball, ...flags)).stdout);
    expect(Object.keys(analysis.entrypoints).sort()).toEqual([...paths, "./package.json"].sort());
    const found = Object.values<{ kind: string; resolutionKind: string }[]>(problems).flat();
    expect(found.filter(({ resolutionKind }) => !notForEsm.includes(resolutionKind))).toEqual([]);
  });
});

describe("a program in an empty strict TypeScript project with the tarball installed", () => {
  let project: string;
  beforeAll(async () => {
    project = join(directory, "project");
    const modules = join(project, "node_modules");
    await mkdir(join(modules, "codecell"), { recursive: true });
    await execute("tar", ["-xzf", tarball, "-C", join(modules, "codecell"), "--strip-components=1"]);
    // what npm would install: the dependencies of the package and of the program
    const dependencies = [...Object.keys(description.dependencies), "@types/node", "@modelcontextprotocol/client"];
    for (const name of dependencies) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(root, "node_modules", name), join(modules, name));
    }
    for (const name of hasPeers ? Object.values(peerOf) : []) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(clientModules, name), join(modules, name));
    }
    await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
    await writeFile(join(project, "program.ts"), program);
    await writeFile(join(project, "internals.ts"), programWithInternals);
    await writeFile(join(project, "peers.ts"), programWithPeers);
    await writeFile(join(project, "page.ts"), programOfPage);
  });

  test("imports every export path", () => {
    const imported = [...`${program}${programWithPeers}`.matchAll(/from "codecell([^"]*)"/g)].map(
      ([, path]) => `.${path}`,
    );
    expect([...new Set(imported)].sort()).toEqual([...paths].sort());
  });

  test.skipIf(!hasPeers)("compiles with the optional peers, and runs", async () => {
    // The peers' own declarations are not ours to check.
    expect(await compile({ module: "NodeNext" }, { files: ["peers.ts"], skipLibCheck: true })).toBe("");
    const { stdout } = await execute(process.execPath, ["peers.js"], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({ tool: "mcp__sandboxed_code__run", onFailure: "block", refused: "usage" });
  });

  test("compiles for a bundler, also with the optional peers", async () => {
    // what the declarations themselves say is checked once, for Node
    const bundler = { module: "ESNext", moduleResolution: "bundler", noEmit: true };
    const files = ["program.ts", ...(hasPeers ? ["peers.ts"] : [])];
    expect(await compile(bundler, { files, skipLibCheck: true })).toBe("");
  });

  test("compiles for Node without skipLibCheck and without internal members, and runs", async () => {
    expect(await compile({ module: "NodeNext" }, { files: ["program.ts", "internals.ts"] })).toBe("");
    const { stdout } = await execute(process.execPath, ["program.js"], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({
      ...{ value: "42", runner: "wasm", refused: "policy_invalid", recorded: ["run.started", "run.ended"] },
      ...{ isSound: true, builtIn: true, others: ["container", "gvisor", "kata", "kubernetes", "process", "srt"] },
      frameworks: [
        ...[true, "function", "written", "npm install @langchain/core@1", "npm install @openai/agents@0.20"],
      ],
      ...{ followed: "ok", shaped: true, rlm: { chars: 7 }, called: "4", mcp: true, health: 200, listed: 401 },
      remote: ["42", "session_unknown"],
    });
  });

  test("compiles for a browser with the client, where there are no types of Node", async () => {
    const browser = { module: "ESNext", moduleResolution: "bundler", noEmit: true, lib: ["ES2022", "DOM"], types: [] };
    expect(await compile(browser, { files: ["page.ts"] })).toBe("");
  });

  async function compile(kind: object, { files, skipLibCheck = false }: Sources): Promise<string> {
    const compilerOptions = {
      ...{ target: "ES2022", lib: ["ES2023", "ESNext.Disposable"], types: ["node"], strict: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
      ...{ skipLibCheck, skipDefaultLibCheck: true, ...kind }, // TypeScript's own libraries are not ours to check
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    // each further checker costs the CPU time of checking for itself what all need
    const { stdout } = await tool("tsc", "-p", project, "--checkers", "1").catch((error: { stdout: string }) => error);
    return stdout;
  }
});

interface Sources {
  readonly files: readonly string[];
  readonly skipLibCheck?: boolean;
}

/** Older kinds of resolution, which an ESM-only package does not support. */
const notForEsm = ["node10", "node16-cjs"];

function tool(name: string, ...args: string[]): Promise<{ stdout: string }> {
  return execute(join(root, "node_modules", ".bin", name), args, { maxBuffer: 64 * 1024 * 1024 });
}

/** What a page does. Its project has neither Node's types nor those of the newest JavaScript. */
const programOfPage = `
import { type CodecellError, connect, type ExposedFunction, type RemoteRunResult } from "codecell/client";

const price: ExposedFunction<{ fruit: string }> = {
  description: "The price of a fruit.",
  input: { type: "object", properties: { fruit: { type: "string" } } },
  call: ({ fruit }, { signal }) => (signal.aborted ? 0 : fruit.length),
};
const codecell = await connect({ url: location.origin, token: "of the user" });
try {
  const session = await codecell.session("page");
  await session.expose({ price });
  const result: RemoteRunResult = await session.run("price('apple')");
  document.title = result.value ?? result.stdout;
} catch (error) {
  document.title = (error as CodecellError).code;
}
`;

/** What needs optional peers. */
const programWithPeers = `
import type { Query } from "@anthropic-ai/claude-agent-sdk";
import { CodecellError } from "codecell";
import { runToolName, sandboxedQuery, sandboxGate, type SandboxedQueryOptions, type ToolAnswer } from "codecell/agent-sdk";

const said: Record<string, unknown> = { tool: runToolName, onFailure: sandboxGate().onFailure };
const onToolRequest = (): ToolAnswer => ({ behavior: "deny" });
const options: SandboxedQueryOptions = { maxTurns: 1, sandboxPolicy: { net: { enabled: false } }, onToolRequest };
try {
  const query: Query = sandboxedQuery({ prompt: "go", options: { ...options, allowedHostTools: ["Bash"] } });
  query.close();
} catch (error) {
  said.refused = error instanceof CodecellError ? error.code : error;
}
console.log(JSON.stringify(said));
`;

/** Internal members are not in the public types. If one were, its `@ts-expect-error` would fail. */
const programWithInternals = `
import { Codecell, type RunResult, type Session, type SessionInfo, parsePolicy } from "codecell";

export async function once(code: string): Promise<RunResult> {
  await using codecell = await Codecell.open({ policy: { proc: { timeout: "1m" } } });
  const session: Session = await codecell.session();
  // @ts-expect-error internal
  session.wake();
  // @ts-expect-error there is no third argument
  session.run(code, {}, 7);
  const events: string[] = [];
  for await (const event of session.run(code, { timeout: "5s" })) events.push(event.type);
  await using twin = await session.fork();
  return await twin.run(code);
}

export async function sessions(): Promise<SessionInfo[]> {
  await using manager = await Codecell.open({ policy: parsePolicy({}) });
  const session = await manager.session();
  // @ts-expect-error the stored record is internal
  session.record;
  return manager.list();
}
`;

const program = `
import { join } from "node:path";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { Codecell, CodecellError, parsePolicy, type CodecellOptions, type Run, type RunResult } from "codecell";
import { codeTool } from "codecell/ai-sdk";
import { auditDirectory, readAudit, verifyAudit, type AuditReport } from "codecell/audit";
import { connect, type RemoteCodecell, type RemoteRunResult } from "codecell/client";
import { HttpService, listen, newTokenText, TokenStore, type Listener } from "codecell/http";
import { codeTool as langChainTool, type DeepAgentsBackend, sessionBackend } from "codecell/langchain";
import { createMcpServer, mcpMount } from "codecell/mcp";
import { codeTool as openAiTool, sessionShell } from "codecell/openai-agents";
import { type LmClient, type RlmResult, runRlm } from "codecell/rlm";
import { builtInRunners, type Probe, type SandboxRunner } from "codecell/runners";
import { containerRunner, gvisorRunner, kataRunner } from "codecell/runners/container";
import { kubernetesRunner } from "codecell/runners/kubernetes";
import { processRunner } from "codecell/runners/process";
import { srtRunner } from "codecell/runners/srt";
import { wasmRunner } from "codecell/runners/wasm";
import {
  callTool, renderShaped, RunRegistry, sandboxFor, shapeResult, toolsOf, type ToolOutcome, wireSchemas, encodeRun,
} from "codecell/service";

const said: Record<string, unknown> = {};
const stateDir = join(import.meta.dirname, "state");
const options: CodecellOptions = {
  policy: { audit: { enabled: true }, llm: { models: ["claude-haiku-5-5"] } },
  runners: [wasmRunner()],
  stateDir,
};
const codecell = await Codecell.open(options);
try {
  const session = await codecell.session("work");
  const run: Run = session.run("6 * 7");
  const result: RunResult = await run;
  said.value = result.value;
  said.runner = result.runner;
  try {
    parsePolicy({ proc: { memory: "much" } });
  } catch (error) {
    said.refused = error instanceof CodecellError ? error.code : error;
  }

  const others: SandboxRunner[] = [containerRunner(), gvisorRunner(), kataRunner(), kubernetesRunner(), processRunner(), srtRunner()];
  said.others = others.map(({ name }) => name).sort();
  const all = builtInRunners();
  const wasm = all.find(({ name }) => name === "wasm");
  const probe: Probe | undefined = await wasm?.probe({ isPatient: true });
  said.builtIn = probe?.available;
  for (const runner of [...others, ...all]) await runner[Symbol.asyncDispose]();

  const runs = new RunRegistry();
  const { runId } = runs.start(session, "print('so far')");
  const followed = await runs.wait(runId);
  said.followed = followed.status;
  const shaped = renderShaped(shapeResult(result, { characters: 1000 }));
  const wire = wireSchemas.run.parse(encodeRun(result, { runId, sessionId: session.id, nextOffset: null }));
  said.shaped = shaped.includes("42") && wire.value === "42";

  const used = { inputTokens: 9, outputTokens: 9, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const text = "\`\`\`python\\nSUBMIT(chars=len(text))\\n\`\`\`";
  const scripted: LmClient = { name: "scripted", complete: async () => ({ text, stop: "end", usage: used }) };
  const rlm = await runRlm(session, {
    signature: "text -> chars: int",
    inputs: { text: { value: "seven!!" } },
    models: { root: "claude-haiku-5-5", clientFor: () => scripted },
  });
  const answered: RlmResult = await rlm.result;
  said.rlm = answered.outputs;

  const { text: told } = await codeTool(session).execute({ code: "3 + 3" }, {});
  const backend: DeepAgentsBackend = sessionBackend(session);
  await backend.write("/workspace/a.txt", "written");
  const hintOf = (error: unknown) => (error instanceof CodecellError ? error.hint : error);
  said.frameworks = [
    told.includes("6"), typeof sessionShell(session).run, (await backend.read("a.txt")).content,
    await langChainTool(session).catch(hintOf), await openAiTool(session).catch(hintOf),
  ];

  const sandbox = sandboxFor(codecell);
  const [tool] = toolsOf("interpreter", { hasModel: false });
  if (tool === undefined) throw new Error("there are no tools");
  const { signal } = new AbortController();
  const args = tool.input.parse({ code: "2 + 2", session_id: "work" });
  const outcome: ToolOutcome = await callTool(tool, sandbox, { args, context: { signal } });
  said.called = outcome.isError ? outcome.error : outcome.facts.value;

  const [near, far] = InMemoryTransport.createLinkedPair();
  await createMcpServer(sandbox).connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  said.mcp = (await client.listTools()).tools.some(({ name }) => name === tool.name);
  await client.close();

  const token = newTokenText();
  const service = new HttpService({ codecell, tokens: TokenStore.single(token), mount: mcpMount() });
  const listener: Listener = await listen(service, { host: "127.0.0.1", port: 0 });
  said.health = (await fetch(listener.url + "/v1/health")).status;
  said.listed = (await fetch(listener.url + "/v1/sessions")).status;
  const remote: RemoteCodecell = await connect({ url: listener.url, token });
  const there: RemoteRunResult = await (await remote.session("work")).run("40 + 2");
  const unknown: unknown = await remote.get("nobody").catch((error: unknown) => error);
  // one class of errors, whichever path it comes from
  said.remote = [there.value, unknown instanceof CodecellError && unknown.code];
  await remote.close();
  await listener.end();
  await service[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
} finally {
  await codecell.close();
}
const types: string[] = [];
for await (const { event } of readAudit(auditDirectory(stateDir), { types: ["run.started", "run.ended"] })) types.push(event.type);
said.recorded = types.slice(0, 2);
const report: AuditReport = await verifyAudit(auditDirectory(stateDir));
said.isSound = report.isSound;
console.log(JSON.stringify(said));
`;
