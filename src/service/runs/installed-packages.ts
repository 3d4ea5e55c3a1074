import { z } from "zod";
import type { Session } from "../../sessions/session.ts";

/** Packages that a model would like to know about, most wanted first. */
const notable = [
  ...["numpy", "pandas", "matplotlib", "scipy", "sklearn", "sympy", "PIL", "requests", "polars", "pyarrow", "duckdb"],
  ...["seaborn", "plotly", "networkx", "statsmodels", "openpyxl", "lxml", "bs4", "yaml", "torch", "micropip", "pip"],
];

/** What the interpreter of a session has. Asks the cell, which can lie only to itself; undefined: it did not answer. */
export async function installedPackages(session: Session) {
  const found = `[name for name in ${JSON.stringify(notable)} if __import__("importlib.util").util.find_spec(name)]`;
  try {
    const { text } = await session.preview(found, { timeoutMs: 2_000 });
    const packages = z.array(z.enum(notable as [string, ...string[]])).parse(JSON.parse(text));
    return { version: await session.pythonVersion(), packages };
  } catch {
    return undefined;
  }
}
