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
  return (await create(counted)).map((runner) => {
    const announcedCalls: Pick<SandboxRunner, "probe" | "start"> = {
      probe: (options) => announcing(`checking whether the ${runner.name} runner works …`, () => runner.probe(options)),
      start: (spec, options) =>
        announcing(`starting a cell in the ${runner.name} runner …`, () => runner.start(spec, options)),
    };
    // Not a copy of the members: one that is added to the interface later would be missing.
    return new Proxy(runner, {
      get(_, key) {
        if (key in announcedCalls) return Reflect.get(announcedCalls, key);
        const member: unknown = Reflect.get(runner, key);
        return typeof member === "function" ? member.bind(runner) : member;
      },
    });
  });
}
