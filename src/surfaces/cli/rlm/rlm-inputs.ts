import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import type { Session } from "../../../sessions/session.ts";

/** An input of a recursive run: a file that goes into the cell, or a text. */
export type GivenInput =
  | { readonly name: string; readonly file: string }
  | { readonly name: string; readonly value: string };

/** `--input NAME=FILE` and `--value NAME=TEXT`. */
export function parseInputs(files: readonly string[] = [], values: readonly string[] = []): GivenInput[] {
  const inputs = [
    ...files.map((text) => ({ name: nameOf("--input", text), file: restOf(text) })),
    ...values.map((text) => ({ name: nameOf("--value", text), value: restOf(text) })),
  ];
  const twice = inputs.find(({ name }, at) => inputs.findIndex((one) => one.name === name) !== at);
  if (twice) throw new CodecellError("usage", `the input ${twice.name} is given twice`);
  return inputs;
}

function nameOf(flag: string, text: string): string {
  const name = text.slice(0, Math.max(0, text.indexOf("=")));
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  const what = flag === "--input" ? "NAME=FILE, such as docs=notes.txt" : "NAME=TEXT, such as question='Who wrote it?'";
  throw new CodecellError("usage", `${flag} ${JSON.stringify(text.slice(0, 80))} is not ${what}`);
}

function restOf(text: string): string {
  return text.slice(text.indexOf("=") + 1);
}

/** How the cell reads a file from its standard input. The name of the variable is an argument, and never part of the code. */
const readers: Readonly<Record<string, string>> = {
  ".json": "__import__('json').load(__import__('sys').stdin)",
  ".jsonl": "[__import__('json').loads(line) for line in __import__('sys').stdin if line.strip()]",
  ".csv": "list(__import__('csv').DictReader(__import__('sys').stdin))",
};
const readText = "__import__('sys').stdin.read()";

/**
 * Puts the inputs into the session's variables. A file is streamed into the cell and read there, so that a large one never is in
 * the memory of this process.
 */
export async function giveInputs(session: Session, inputs: readonly GivenInput[], cwd: string): Promise<void> {
  for (const input of inputs) {
    if ("value" in input) await session.set(input.name, input.value);
    else await giveFile(session, input.name, resolve(cwd, input.file));
  }
}

async function giveFile(session: Session, name: string, path: string): Promise<void> {
  await assertFile(path);
  const read = readers[extname(path).toLowerCase()] ?? readText;
  const code = `globals()[__import__('sys').argv[1]] = ${read}`;
  const { status, error } = await session.run(code, { args: [name], stdin: createReadStream(path) });
  if (status === "ok") return;
  throw new CodecellError("usage", `${path} could not be read in the cell: ${error?.message ?? status}`, {
    hint: "use text in UTF-8, or valid JSON, JSONL or CSV; a large file may need --memory and --timeout",
  });
}

async function assertFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new CodecellError("file_missing", `${path} cannot be read`, { cause });
  });
  if (!found.isFile()) throw new CodecellError("usage", `${path} is not a file`);
}
