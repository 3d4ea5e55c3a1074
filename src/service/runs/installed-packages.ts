import type { Session } from "../../sessions/session.ts";
import { isPythonFacts, notablePackages, type PythonFacts } from "../tools/policy-facts.ts";

/** What the interpreter of a session has; undefined: it did not answer. User code can only lie about known names. */
export async function installedPackages(session: Session): Promise<PythonFacts | undefined> {
  const found = `[name for name in ${JSON.stringify(notablePackages)} if __import__("importlib.util").util.find_spec(name)]`;
  try {
    const { text } = await session.preview(found, { timeoutMs: 2_000 });
    const facts: unknown = { version: await session.pythonVersion(), packages: JSON.parse(text) };
    return isPythonFacts(facts) ? facts : undefined;
  } catch {
    return undefined;
  }
}
