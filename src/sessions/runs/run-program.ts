import type { Program } from "../../kernel/messages.ts";
import type { StdinSource } from "../../kernel/stdin.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { LiveRunOptions } from "./live-run-options.ts";
import type { RunOptions } from "./run-options.ts";

/** A name, arguments and standard input, as the kernel takes them. */
export interface RunProgram {
  readonly program: Program;
  readonly stdin: StdinSource | undefined;
}

/** As JSON: a header of the kernel's protocol holds twice as much, and so does the command line of a process. */
const maxArgsBytes = 128 * 1024;
const maxNameBytes = 255;

/** What a program finds around it; undefined for a run that has only code. */
export function programOf({
  args,
  file,
  stdin,
  neighbours,
}: Pick<LiveRunOptions, "args" | "file" | "stdin" | "neighbours">): RunProgram | undefined {
  if (args === undefined && file === undefined && stdin === undefined && neighbours === undefined) return undefined;
  const program: Program = {
    ...(file === undefined ? {} : { file: checkedName(file) }),
    ...(args === undefined ? {} : { args: checkedArgs(args) }),
    ...(stdin === undefined ? {} : { stdin: true }),
    ...neighbours,
  };
  return { program, stdin: stdin === undefined ? undefined : sourceOf(stdin) };
}

function checkedName(file: string): string {
  const isName = typeof file === "string" && file !== "" && !/[/\0]|\p{Surrogate}/u.test(file);
  if (isName && Buffer.byteLength(file) <= maxNameBytes) return file;
  throw new CodecellError(
    "usage",
    `the program's name must be a file name without a directory, not ${JSON.stringify(file)}`,
    {
      hint: "the code itself is what runs; `file` is only the name that it sees as `__file__`",
    },
  );
}

function checkedArgs(args: readonly string[]): readonly string[] {
  if (!Array.isArray(args) || !args.every((one) => typeof one === "string" && !/\0|\p{Surrogate}/u.test(one))) {
    throw new CodecellError("usage", "the arguments must be a list of strings without NUL characters");
  }
  const bytes = Buffer.byteLength(JSON.stringify(args));
  if (bytes <= maxArgsBytes) return args;
  throw new CodecellError("too_large", `the arguments take ${bytes} bytes; the limit is ${maxArgsBytes}`, {
    hint: "pass large data through stdin, or put it into a variable with set()",
  });
}

function sourceOf(stdin: NonNullable<RunOptions["stdin"]>): StdinSource {
  if (typeof stdin === "string" || stdin instanceof Uint8Array) return once(stdin);
  if (typeof stdin?.[Symbol.asyncIterator] === "function") return stdin;
  throw new CodecellError("usage", "stdin must be text, bytes, or an async iterable of them, such as a stream");
}

async function* once(whole: string | Uint8Array): AsyncGenerator<string | Uint8Array> {
  yield whole;
}
