import type { Logger } from "../lib/log/logger.ts";
import type { SandboxRunner } from "./runner.ts";

/** Nobody waits longer than a second without a line that says for what. */
const patienceMs = 900;

/** Creates runners that log one line when a probe or the start of a cell takes long, unless they log something themselves. */
export async function announced(
  create: (logger: Logger) => SandboxRunner[] | Promise<SandboxRunner[]>,
  logger: Logger,
  afterMs = patienceMs,
): Promise<SandboxRunner[]> {
  let lines = 0;
  const info: Logger["info"] = (message, facts) => {
    lines++;
    logger.info(message, facts);
  };
  const announcing = async <Result>(message: string, work: () => Promise<Result>): Promise<Result> => {
    const before = lines;
    const timer = setTimeout(() => lines === before && info(message), afterMs);
    return await work().finally(() => clearTimeout(timer));
  };
  const counted: Logger = {
    info,
    debug: (message, facts) => logger.debug(message, facts),
    warn: (message, facts) => logger.warn(message, facts),
    error: (message, facts) => logger.error(message, facts),
  };
  return (await create(counted)).map((runner) => ({
    name: runner.name,
    isolation: runner.isolation,
    takesWorkspace: runner.takesWorkspace,
    insideSandbox: runner.insideSandbox,
    probe: (options) => announcing(`checking whether the ${runner.name} runner works …`, () => runner.probe(options)),
    plan: (policy) => runner.plan(policy),
    ...(runner.python ? { python: runner.python.bind(runner) } : {}),
    start: (spec, options) =>
      announcing(`starting a cell in the ${runner.name} runner …`, () => runner.start(spec, options)),
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  }));
}
