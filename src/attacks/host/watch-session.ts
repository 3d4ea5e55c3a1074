import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";
import type { StartHostCheck } from "./host-check.ts";
import { LoopStalls } from "./loop-stalls.ts";

/** Far more than any of the questions takes; a busy machine must not look like an attack that worked. */
const answerMs = 20_000;
const allowedStallMs = 2_000;

/**
 * After the attack, the host asks the same session what surfaces ask: a run, variables, a value, files, a snapshot. A session
 * may have lost its state, or be closed. It may not hang the host, answer for another run, or name files outside of its
 * workspace. Then the interpreter is reset, so that the next attack starts from nothing.
 */
export const watchSession: StartHostCheck = async ({ session }) => {
  const stalls = new LoopStalls();
  return async () => {
    try {
      const harm = await firstHarm(session);
      if (harm !== undefined) return harm;
    } finally {
      stalls.stop();
    }
    return stalls.over(allowedStallMs);
  };
};

async function firstHarm(session: Session): Promise<string | undefined> {
  const questions: Record<string, () => Promise<string | undefined>> = {
    "the list of variables": async () => void (await session.variables()),
    "the list of files": async () => {
      const { files } = await session.listFiles();
      const outside = files.find(({ path }) => path.startsWith("/") || path.split("/").includes(".."));
      return outside === undefined ? undefined : `the session named a file outside of its workspace: ${outside.path}`;
    },
    "a value": async () => {
      const value = await session.get("[1, 2]");
      return JSON.stringify(value) === "[1,2]" ? undefined : "the session answered for another question";
    },
    "a snapshot": async () => void (await session.save()),
    "a reset": async () => void (await session.reset()),
    "a run": async () => {
      const { status, value, error, notes } = await session.run("40 + 2");
      if (status === "ok" && value === "42") return undefined;
      const why = [error?.message, ...notes].find((text) => text !== undefined) ?? "without a reason";
      return `after it, a run ended as ${status} with ${value}: ${why}`;
    },
  };
  for (const [name, ask] of Object.entries(questions)) {
    const harm = await within(name, ask);
    if (harm !== undefined) return harm;
  }
  return undefined;
}

/** A refusal with a code is an answer; anything else that is thrown was not expected. */
async function within(name: string, ask: () => Promise<string | undefined>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`after it, ${name} took more than ${answerMs} ms`), answerMs);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    const isExpected = error instanceof CodecellError && error.code !== "internal";
    return isExpected ? undefined : `after it, ${name} failed: ${messageOf(error)}`;
  } finally {
    clearTimeout(timer);
  }
}
