import { parseArgs } from "node:util";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import { familiarOption } from "../suggest/familiar-options.ts";

/** An option as `util.parseArgs` takes it, and as the help shows it. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** the value's name in the help, such as FILE */
  readonly value?: string;
  readonly help: string;
}
export type OptionTable = Readonly<Record<string, OptionSpec>>;

type Parsed<Options extends OptionTable> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true; strict: true }>
> & {
  /** the operands after `--` */
  readonly afterDashes: readonly string[];
};

/** Options of every command. */
export const commonOptions = {
  help: { type: "boolean", short: "h", help: "Show this help." },
} as const satisfies OptionTable;

/**
 * Parses a command's arguments. Options may come before or after the operands; `--` ends them. An option that takes one value is
 * refused the second time. `forProgram`: an option that the command lacks, or that is repeated, may be meant for the program that
 * it runs, if it is behind the program.
 */
export function parseArguments<Options extends OptionTable>(
  command: string,
  argv: readonly string[],
  options: Options,
  maxOperands: number,
  { forProgram = false } = {},
): Parsed<Options> {
  const hint = `\`codecell help ${command}\` shows the options`;
  const given = givenOptions(argv, options);
  const unknown = given.find(({ key }) => !Object.hasOwn(options, key));
  if (unknown !== undefined) {
    const { name, isBehindOperand } = unknown;
    const isForProgram = forProgram && isBehindOperand;
    // Programs have options of one letter too, so a guess would mislead.
    const near = isForProgram && !name.startsWith("--") ? undefined : meantOption(name, Object.keys(options));
    const question = near === undefined ? "" : `; did you mean --${near}?`;
    throw new CodecellError("usage", `unknown option ${JSON.stringify(name)}${question}`, {
      hint: `${isForProgram ? passing(name) : ""}${hint}`,
    });
  }
  const repeated = firstRepeated(given, options);
  if (repeated !== undefined) {
    const { name, isBehindOperand } = repeated;
    throw new CodecellError("usage", `${name} is given more than once, and only one value can count`, {
      hint: `${forProgram && isBehindOperand ? passing(name) : ""}${hint}`,
    });
  }
  const parsed = parsedStrictly(argv, options, hint);
  const extra = parsed.positionals[maxOperands];
  if (extra !== undefined) {
    throw new CodecellError("usage", `unexpected argument ${JSON.stringify(extra)}`, { hint });
  }
  return parsed;
}

function passing(name: string): string {
  return `to pass it to the program, put \`--\` before it: \`-- ${name}\`; `;
}

function parsedStrictly<Options extends OptionTable>(
  argv: readonly string[],
  options: Options,
  hint: string,
): Parsed<Options> {
  try {
    const config = { args: [...argv], options, allowPositionals: true, strict: true, tokens: true } as const;
    const { tokens, ...parsed } = parseArgs(config);
    const dashesAt = tokens.findIndex(({ kind }) => kind === "option-terminator");
    const count = dashesAt < 0 ? 0 : tokens.length - dashesAt - 1;
    return { ...parsed, afterDashes: parsed.positionals.slice(parsed.positionals.length - count) } as Parsed<Options>;
  } catch (error) {
    throw new CodecellError("usage", whatIsWrong(error), { hint, cause: error });
  }
}

/** An option of another tool first: `--volume` is near to nothing of ours, and `-v` to everything. */
function meantOption(written: string, names: readonly string[]): string | undefined {
  const familiar = familiarOption(written.replace(/^--?/, ""), names);
  return familiar ?? (written.startsWith("--") ? nearest(written.slice(2), names) : undefined);
}

interface GivenOption {
  /** as in the table of options */
  readonly key: string;
  /** as written */
  readonly name: string;
  readonly isBehindOperand: boolean;
}

function givenOptions(argv: readonly string[], options: OptionTable): readonly GivenOption[] {
  const { tokens } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: false, tokens: true });
  let isBehindOperand = false;
  return tokens.flatMap((token) => {
    isBehindOperand ||= token.kind === "positional";
    return token.kind === "option" ? [{ key: token.name, name: token.rawName, isBehindOperand }] : [];
  });
}

/** The first option that replaces an earlier value. A switch can be given twice: it says the same. */
function firstRepeated(given: readonly GivenOption[], options: OptionTable): GivenOption | undefined {
  const seen = new Set<string>();
  return given.find(({ key }) => {
    const isRepeated = seen.has(key) && options[key]?.type === "string" && !options[key].multiple;
    seen.add(key);
    return isRepeated;
  });
}

/** Explains a missing value. Node calls a value that starts with a dash ambiguous; usually the value was forgotten. */
function whatIsWrong(error: unknown): string {
  const line = firstLine(messageOf(error));
  const [, option] = /^option '(?:-\w, )?(--[\w-]+|-\w).*' argument (?:is ambiguous|missing)/.exec(line) ?? [];
  return option === undefined
    ? line
    : `${option} needs a value; write a value that starts with a dash as ${option}${option.startsWith("--") ? "=" : ""}VALUE`;
}

function firstLine(text: string): string {
  const line = text.split("\n")[0] ?? "";
  return `${line.charAt(0).toLowerCase()}${line.slice(1)}`.replace(/\.$/, "");
}
