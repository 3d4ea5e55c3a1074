import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestClient } from "../support/http-service.ts";
import { CodecellProcess, launcher } from "./codecell-process.ts";

/** The working directory of one test, with the state of its services below it. */
export class ServiceDirectory implements AsyncDisposable {
  readonly path: string;
  readonly #servers: CodecellProcess[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<ServiceDirectory> {
    const path = await mkdtemp(join(tmpdir(), "codecell-serve-"));
    await chmod(path, 0o711); // under root, cells run under another uid and must enter it
    return new ServiceDirectory(path);
  }

  get state(): string[] {
    return ["--state-dir", join(this.path, "state")];
  }

  get stateArguments(): string[] {
    return [...this.state, "--runtime-dir", join(this.path, "run")];
  }

  /** Starts `codecell serve` on a free port and waits until it prints its address. */
  async serve(
    args: readonly string[] = [],
    options: { env?: Record<string, string>; nodeArgs?: readonly string[] } = {},
  ): Promise<RunningService> {
    const argv = ["serve", "--port", "0", "--json", ...this.stateArguments, ...args];
    const env = { CODECELL_TOKEN: "", CODECELL_POLICY: "", XDG_RUNTIME_DIR: "", ...options.env };
    const [file, ...rest] = [...(options.nodeArgs ?? []), launcher, ...argv] as [string, ...string[]];
    const server = new CodecellProcess(file, rest, { cwd: this.path, env });
    this.#servers.push(server);
    const facts = await new Promise<ServiceFacts>((resolve, reject) => {
      server.child.stdout?.once("data", (bytes) => resolve(JSON.parse(String(bytes))));
      void server.finished.then((end) => reject(new Error(JSON.stringify(end))));
    });
    return { server, facts, client: new TestClient(facts.url, facts.token ?? (env.CODECELL_TOKEN || undefined)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child, finished } of this.#servers) {
      child.kill("SIGKILL");
      await finished;
    }
    await rm(this.path, { recursive: true, force: true });
  }
}

export interface ServiceFacts {
  readonly url: string;
  readonly token?: string;
  readonly token_file?: string;
}

export interface RunningService {
  readonly server: CodecellProcess;
  readonly facts: ServiceFacts;
  /** with the token that was created for this start or set in the environment */
  readonly client: TestClient;
}
