import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestClient } from "../support/http-service.ts";
import { availableRunners } from "./codecell-process.ts";
import { CommandsHere } from "./commands-here.ts";
import { McpPair } from "./mcp-client.ts";
import { type RunningService, ServiceDirectory } from "./running-service.ts";

const runners = await availableRunners();

interface Linked {
  readonly name: string;
  readonly download_url?: string;
}

// starts several processes in sequence, which takes minutes on a busy machine
const patient = { timeout: 240_000 };

describe.skipIf(!runners.includes("process"))(
  "files of other codecell processes beside a running service",
  patient,
  () => {
    let directory: ServiceDirectory;
    let commands: CommandsHere;
    beforeAll(async () => {
      directory = await ServiceDirectory.make();
      commands = await CommandsHere.open();
    });
    afterAll(async () => {
      await commands[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    });

    const anyone = new TestClient("", undefined);
    const download = async (url: string | undefined) => anyone.call("GET", url ?? "no link");

    async function run(code: string, args: readonly string[] = []): Promise<Linked[]> {
      const argv = ["run", "--json", "-c", code, ...directory.state, "--runner", "process", ...args];
      const { stdout } = await commands.run(argv);
      return JSON.parse(stdout).artifacts;
    }
    const inSession = (code: string) => run(code, ["--session", "work"]);

    let started: Promise<RunningService> | undefined;
    /** A service for the tests that do not stop it. */
    function running(): Promise<RunningService> {
      started ??= directory.serve(["--runner", "process"]);
      return started;
    }

    async function listed(): Promise<Linked[]> {
      const { stdout } = await commands.run(["artifacts", "ls", "--session", "work", "--json", ...directory.state]);
      return JSON.parse(stdout).files;
    }

    test("have links while the service runs, valid for their current content, and none afterwards", async () => {
      expect(await inSession("open('out.txt', 'w').write('one')")).toMatchObject([{ name: "out.txt" }]);
      expect(JSON.stringify(await listed())).not.toContain("download_url");

      const { server, facts } = await directory.serve(["--runner", "process"]);
      const [made] = await inSession("open('out.txt', 'w').write('two')");
      expect(made?.download_url).toMatch(new RegExp(`^${facts.url}/v1/download/`));
      const answer = await download(made?.download_url);
      expect([answer.status, answer.text]).toEqual([200, "two"]);
      expect(answer.headers.get("content-disposition")).toMatch(/^attachment; filename="out.txt"/);
      const [again] = await listed();
      expect((await download(again?.download_url)).text).toBe("two");
      // files of a cell that ended with its command cannot be downloaded
      expect(JSON.stringify(await run("open('gone.txt', 'w').write('x')"))).not.toContain("download_url");

      const [other] = await inSession("open('out.txt', 'w').write('three')");
      expect((await download(made?.download_url)).json.error.code).toBe("link_stale");
      expect((await download(other?.download_url)).text).toBe("three");
      expect((await download(other?.download_url?.replace(/.$/, (last) => (last === "A" ? "B" : "A")))).status).toBe(
        404,
      );
      await commands.run(["sessions", "rm", "work", ...directory.state]);
      expect((await download(other?.download_url)).status).toBe(404);

      server.child.kill("SIGKILL"); // its state file stays behind and must be ignored
      await server.finished;
      expect(JSON.stringify(await inSession("open('out.txt', 'w').write('four')"))).not.toContain("download_url");
      expect(JSON.stringify(await listed())).not.toContain("download_url");
    });

    test("have links in the answers of an MCP server with the same state directory", async () => {
      const { facts } = await running();
      await using pair = await McpPair.open("stdio", "modern", [
        "--runner",
        "process",
        "--structured",
        ...directory.state,
      ]);
      const made = await pair.call("run_python", { code: "open('plot.csv', 'w').write('a,b')" });
      const [artifact] = made.facts.artifacts as Linked[];
      expect(artifact?.download_url).toMatch(new RegExp(`^${facts.url}/`));
      expect((await download(artifact?.download_url)).text).toBe("a,b");
      expect(made.text).toContain(artifact?.download_url);
      const { session_id } = made.facts;
      const files = (await pair.call("list_artifacts", { session_id })).facts.files as Linked[];
      expect((await download(files[0]?.download_url)).text).toBe("a,b");
      await pair.call("close_session", { session_id });
      expect((await download(artifact?.download_url)).status).toBe(404);
    });

    test.skipIf(!runners.includes("wasm"))("have no links if they are in the interpreter's memory", async () => {
      await running();
      await using pair = await McpPair.open("stdio", "modern", [
        "--runner",
        "wasm",
        "--structured",
        ...directory.state,
      ]);
      const made = await pair.call("run_python", { code: "open('plot.csv', 'w').write('a,b')" });
      expect(made.facts.artifacts).toMatchObject([{ name: "plot.csv" }]);
      expect(made.text).not.toContain("/v1/download/");
    });
  },
);
