import { randomBytes } from "node:crypto";
import { prelude } from "./prelude.ts";

/** Facts of the host for a program, as JSON. */
export type HostFacts = Readonly<Record<string, unknown>>;

/** The text of a program, and the mark of the line with its verdict. */
export interface AttackProgram {
  readonly code: string;
  /** unguessable, so that nothing else that the program prints looks like its verdict */
  readonly mark: string;
}

/** What a program says: its verdict, or why it did not try. */
export type Statement =
  | { readonly kind: "verdict"; readonly text: string }
  | { readonly kind: "not tried"; readonly why: string }
  | { readonly kind: "none" };

const longestStatement = 1000;

/** A whole Python program: prelude, facts, the attack, and a line with its verdict. It needs nothing but Python. */
export function programOf(code: string, facts: HostFacts): AttackProgram {
  const mark = `verdict-${randomBytes(8).toString("hex")}`;
  // The attack is a text of its own, so that line numbers in a traceback are those of the catalogue.
  const text = [
    prelude,
    `host = json.loads(${JSON.stringify(JSON.stringify(facts))})`,
    `globals().pop("verdict", None)`, // of the attack before, if this one sets none
    `try: exec(compile(${JSON.stringify(code)}, "attack", "exec"))`,
    `except NotTried as reason: print("\\n${mark} not tried " + str(reason))`,
    `else: print("\\n${mark} verdict " + str(verdict))`,
  ];
  return { code: text.join("\n"), mark };
}

/** Bash has no prelude: the facts are variables, and the verdict is its last line. */
export function bashProgramOf(code: string, facts: HostFacts): AttackProgram {
  const mark = `verdict-${randomBytes(8).toString("hex")}`;
  const quoted = (value: unknown) => `'${String(value).replaceAll("'", `'\\''`)}'`;
  const variables = Object.entries(facts)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .map(([name, value]) => `HOST_${name}=${quoted(value)}`);
  return { code: [...variables, `verdict=`, code, `echo; echo "${mark} verdict $verdict"`].join("\n"), mark };
}

/** Finds the verdict in what a program printed. */
export function statementIn(stdout: string, mark: string): Statement {
  const line = stdout
    .split("\n")
    .findLast((one) => one.startsWith(`${mark} `))
    ?.slice(mark.length + 1, mark.length + longestStatement);
  if (line?.startsWith("verdict ")) return { kind: "verdict", text: line.slice("verdict ".length) };
  if (line?.startsWith("not tried ")) return { kind: "not tried", why: line.slice("not tried ".length) };
  return { kind: "none" };
}
