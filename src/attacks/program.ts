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

/** What a program says: its verdict, why it did not try, or the exception that ended it. */
export type Statement =
  | { readonly kind: "verdict" | "not tried" | "failed"; readonly text: string }
  | { readonly kind: "none" };

const statementKinds = ["verdict", "not tried", "failed"] as const;

const longestStatement = 1000;

/** A whole Python program: prelude, facts, the attack, and a line with its verdict. It needs nothing but Python. */
export function programOf(code: string, facts: HostFacts): AttackProgram {
  const mark = newMark();
  return { code: [...beginning(facts), ...attempt(code, mark)].join("\n"), mark };
}

/** Several attacks in one program. An exception does not end the others, but is said in place of a verdict. */
export function programOfMany(codes: readonly string[], facts: HostFacts): { code: string; marks: readonly string[] } {
  const marks = codes.map(newMark);
  const parts = codes.flatMap((code, index) => {
    const mark = marks[index] ?? "";
    const said = `print("\\n${mark} failed %s: %s" % (type(error).__name__, error))`;
    return attempt(code, mark, `except Exception as error: ${said}`);
  });
  return { code: [...beginning(facts), ...parts].join("\n"), marks };
}

function newMark(): string {
  return `verdict-${randomBytes(8).toString("hex")}`;
}

function beginning(facts: HostFacts): string[] {
  return [prelude, `host = json.loads(${JSON.stringify(JSON.stringify(facts))})`];
}

function attempt(code: string, mark: string, ...more: readonly string[]): string[] {
  return [
    `globals().pop("verdict", None)`, // of the attack before, if this one sets none
    // Each attack is compiled alone, so that a line number in an error is one of the catalogue. `here`: srt cannot map paths.
    `try: exec(compile(${JSON.stringify(code)}.replace("/workspace", here), "attack", "exec"))`,
    `except NotTried as reason: print("\\n${mark} not tried " + str(reason))`,
    ...more,
    `else: print("\\n${mark} verdict " + str(verdict))`,
  ];
}

/** Bash has no prelude: the facts are variables, and the verdict is its last line. */
export function bashProgramOf(code: string, facts: HostFacts): AttackProgram {
  const mark = newMark();
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
  const kind = statementKinds.find((one) => line?.startsWith(`${one} `));
  return kind === undefined ? { kind: "none" } : { kind, text: line?.slice(kind.length + 1) ?? "" };
}
