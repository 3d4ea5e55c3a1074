import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningService, ServiceDirectory } from "../e2e/running-service.ts";
import type { Answer, TestClient } from "../support/http-service.ts";

const policy = "version: 1\nsession: { persist: true, idle: 1h }\n";

export interface GatewayProcessOptions {
  readonly database: string;
  readonly token: string;
  /** default: short, for a gateway that is lost */
  readonly lease?: string;
  readonly nodeArgs?: readonly string[];
}

/** A real `codecell serve` with a database. It can be killed and started again, as a pod is. */
export class GatewayProcess implements AsyncDisposable {
  readonly #directory: ServiceDirectory;
  readonly #options: GatewayProcessOptions;
  #running: RunningService;

  private constructor(directory: ServiceDirectory, options: GatewayProcessOptions, running: RunningService) {
    this.#directory = directory;
    this.#options = options;
    this.#running = running;
  }

  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    const directory = await ServiceDirectory.make();
    await writeFile(join(directory.path, "sandbox.policy.yaml"), policy);
    return new GatewayProcess(directory, options, await serve(directory, options));
  }

  get client(): TestClient {
    return this.#running.client;
  }

  get pid(): number {
    return this.#running.server.pid;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  get finished(): Promise<unknown> {
    return this.#running.server.finished;
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.finished;
  }

  async restart(): Promise<void> {
    this.#running = await serve(this.#directory, this.#options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#directory[Symbol.asyncDispose]();
  }
}

function serve(directory: ServiceDirectory, options: GatewayProcessOptions): Promise<RunningService> {
  const { database, token, lease = "3s", nodeArgs = [] } = options;
  const flags = ["--database", database, "--gateway-lease", lease, "--runner", "process", "--no-dashboard"];
  return directory.serve(flags, { env: { CODECELL_TOKEN: token }, nodeArgs });
}

/** An answer, or undefined if the connection broke. */
export async function tried(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof TypeError) return undefined; // what `fetch` throws for a broken connection
    throw error;
  });
}

/** Asks again as long as the answer is that it should, as clients do. */
export async function untilAnswered(ask: () => Promise<Answer>, withinMs = 60_000): Promise<Answer> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await tried(ask());
    if (answer && ![409, 503].includes(answer.status)) return answer;
    if (performance.now() > end) throw new Error(`no answer within ${withinMs} ms: ${answer?.text}`);
    await new Promise((resolve) => setTimeout(resolve, 50)); // instead of Retry-After, which is whole seconds
  }
}
