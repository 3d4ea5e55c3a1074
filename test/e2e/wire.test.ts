import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runSchema, type WireRun } from "../../src/service/wire/runs/run.ts";
import { type ToolRun, toolRunSchema } from "../../src/service/wire/runs/tool-run.ts";
import { type WireName, wireSchemas } from "../../src/service/wire/schemas.ts";
import { TestClient } from "../support/http-service.ts";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners } from "./codecell-process.ts";
import { ServiceDirectory } from "./running-service.ts";

const runners = await availableRunners();
const runner = runners.includes("process") ? "process" : "wasm";
const token = "the-token-of-this-test";

/** The fields that must be equal on every surface for the same program. */
const sharedFields = [
  ...(["status", "state", "exit_code", "value", "stdout", "stderr", "truncated", "notes", "runner"] as const),
];

const programs = {
  "a program that ends well":
    "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('data.csv', 'w').write('a,b\\n')\n[6 * 7]",
  "a program that fails": "def broken():\n    raise ValueError('no: not this')\nbroken()",
  "a program that exits with a code": "raise SystemExit(3)",
};

describe.skipIf(runners.length === 0)("the wire format", () => {
  let directory: ServiceDirectory;
  let http: TestClient;
  let mcp: Client;
  beforeAll(async () => {
    directory = await ServiceDirectory.make();
    const { url } = (await directory.serve(["--runner", runner, "--structured"], { env: { CODECELL_TOKEN: token } }))
      .facts;
    http = new TestClient(url, token);
    mcp = new Client({ name: "wire", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  });
  afterAll(async () => {
    await mcp?.close();
    await directory?.[Symbol.asyncDispose]();
  });

  const cli = async (...argv: string[]) => {
    const { stdout } = await codecellHere([...argv, "--json", ...directory.state], { cwd: directory.path });
    return JSON.parse(stdout);
  };
  const overCli = async (session: string, code: string): Promise<WireRun> =>
    runSchema.parse(await cli("run", "--runner", runner, "--session", session, "-c", code));
  const overHttp = async (session: string, code: string): Promise<WireRun> =>
    runSchema.parse((await http.run(await http.session(session), code)).json);
  const overMcp = async (code: string): Promise<ToolRun> =>
    toolRunSchema.parse(
      (await mcp.callTool({ name: "run_python", arguments: { code, session_id: "new" } })).structuredContent,
    );

  test.each(Object.entries(programs))("is the same on every surface for %s", async (title, code) => {
    const session = title.replaceAll(" ", "-");
    const [command, service, tool] = [await overCli(session, code), await overHttp(session, code), await overMcp(code)];
    for (const field of sharedFields) {
      expect({ field, value: service[field] }).toEqual({ field, value: command[field] });
      expect({ field, value: tool[field] }).toEqual({ field, value: command[field] });
    }
    expect(service.error).toEqual(command.error);
    // For a model, the traceback lacks its last line, which repeats the type and message.
    const { type = "", message = "", traceback = "" } = command.error ?? {};
    const [whole, last] = [traceback.trimEnd(), `${type}: ${message}`];
    const shortened = whole.endsWith(last) ? whole.slice(0, -last.length).trimEnd() : whole;
    expect(tool.error).toEqual(command.error && { ...command.error, traceback: shortened });
    const content = (run: Pick<WireRun, "artifacts">) => run.artifacts.map(contentOf);
    expect(content(service)).toEqual(content(tool));
    if (command.artifacts.length > 0) expect(content(command)).toEqual(content(service));
    for (const { usage } of [command, service, tool]) {
      expect(usage?.cpu_ms).toBeGreaterThan(0);
      expect(usage?.peak_memory_bytes).toBeGreaterThan(1_000_000);
      expect(usage?.wall_ms).toBeGreaterThan(0);
      expect(usage).toMatchObject({ sent_bytes: 0, received_bytes: 0 });
    }
  });

  test("is the same on every surface for an error of codecell itself", async () => {
    const parse = (answer: unknown) => wireSchemas.error.parse(answer).error;
    const command = parse(await cli("sessions", "show", "nobody"));
    const service = parse((await http.call("GET", "/v1/sessions/nobody")).json);
    const reply = await mcp.callTool({ name: "run_python", arguments: { code: "1", session_id: "nobody" } });
    const tool = parse({ error: reply._meta?.["codecell/error"] });
    expect(reply.isError).toBe(true);
    for (const { code, message, hint } of [command, service, tool]) {
      expect({ code, message }).toEqual({ code: "session_unknown", message: 'there is no session "nobody"' });
      expect(hint).toEqual(expect.any(String));
    }
  });

  test("has no field outside the schema in any output of the CLI", async () => {
    const session = "strict";
    await overCli(session, "x = 1\nopen('a.txt', 'w').write('a')");
    const check = (name: WireName, answer: unknown) => expect(wireSchemas[name].parse(answer)).toEqual(answer);
    const { sessions } = await cli("sessions", "ls");
    for (const one of sessions) check("session", one);
    check("session_detail", await cli("sessions", "show", session));
    if (runner === "process") check("snapshot", await cli("sessions", "save", session, "--runner", runner));
    check("restore", await cli("sessions", "restore", session, "--runner", runner));
    if (runner === "process") check("file_list", await cli("artifacts", "ls", "--session", session));
  });

  test("has no field outside the schema in any answer of the tools", async () => {
    const { tools } = await mcp.listTools();
    for (const { name, outputSchema } of tools)
      expect([name, outputSchema?.additionalProperties]).toEqual([name, false]);
  });
});

function contentOf({ name, size, mime_type, sha256 }: WireRun["artifacts"][number]) {
  return { name, size, mime_type, sha256 };
}
