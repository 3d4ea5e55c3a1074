import { z } from "zod";
import type { Session } from "../../sessions/session.ts";
import { notablePackages, type PythonFacts } from "../tools/policy-facts.ts";

/** A model reads this in later conversations, so nothing but a version and known names may come out of a cell. */
export const pythonFactsSchema = z.strictObject({
  version: z.string().regex(/^\d{1,2}\.\d{1,3}\.\d{1,3}[a-z0-9+]{0,10}$/),
  packages: z.array(z.enum(notablePackages as [string, ...string[]])).max(notablePackages.length),
});

/** What the interpreter of a session has; undefined: it did not answer. User code can only lie about known names. */
export async function installedPackages(session: Session): Promise<PythonFacts | undefined> {
  const found = `[name for name in ${JSON.stringify(notablePackages)} if __import__("importlib.util").util.find_spec(name)]`;
  try {
    const { text } = await session.preview(found, { timeoutMs: 2_000 });
    return pythonFactsSchema.parse({ version: await session.pythonVersion(), packages: JSON.parse(text) });
  } catch {
    return undefined;
  }
}
