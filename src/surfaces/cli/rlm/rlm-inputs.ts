import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { type FieldType, type Signature, typeText } from "../../../service/rlm/rlm-runs.ts";
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
 * Puts the files into the session's variables. A file is streamed into the cell and read there, so that a large one never is in
 * the memory of this process.
 */
export async function giveFiles(
  session: Session,
  { inputs: fields }: Signature,
  inputs: readonly GivenInput[],
  cwd: string,
): Promise<void> {
  for (const input of inputs) {
    if (!("file" in input)) continue;
    const type = fields.find(({ name }) => name === input.name)?.type;
    const path = resolve(cwd, input.file);
    await giveFile(session, input.name, path, type);
    if (type !== undefined) await assertType(session, input.name, path, type);
  }
}

async function giveFile(session: Session, name: string, path: string, type: FieldType | undefined): Promise<void> {
  await assertFile(path);
  // A text stays one, whatever its file is called.
  const read = type?.kind === "str" ? readText : (readers[extname(path).toLowerCase()] ?? readText);
  const code = `globals()[__import__('sys').argv[1]] = ${read}`;
  const { status, error } = await session.run(code, { args: [name], stdin: createReadStream(path) });
  if (status === "ok") return;
  throw new CodecellError("usage", `${path} could not be read in the cell: ${error?.message ?? status}`, {
    hint: "use text in UTF-8, or valid JSON, JSONL or CSV; a large file may need --memory and --timeout",
  });
}

/** Compares the outermost type. A model that is told of a list and gets a text loops over its characters. */
async function assertType(session: Session, name: string, path: string, type: FieldType): Promise<void> {
  const found = String(await session.get(`type(${name}).__name__`));
  if (isA(found, type)) return;
  throw new CodecellError("usage", `the input ${name} is ${typeText(type)}, and ${path} holds a ${found}`, {
    hint: `change the type of ${name} in the signature, or use a .json, .jsonl or .csv file for lists and dicts`,
  });
}

function isA(python: string, type: FieldType): boolean {
  if (type.kind === "union") return type.of.some((member) => isA(python, member));
  if (type.kind === "any") return true;
  if (type.kind === "literal") return !["list", "dict"].includes(python);
  if (type.kind === "float") return python === "float" || python === "int";
  return python === (type.kind === "none" ? "NoneType" : type.kind);
}

async function assertFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ENOENT") throw new CodecellError("file_missing", `${path} cannot be read`, { cause });
    throw new CodecellError("file_missing", `${path} does not exist`, {
      hint: "--input takes a file; use --value for a text, and /dev/stdin for standard input",
      cause,
    });
  });
  if (!found.isFile()) throw new CodecellError("usage", `${path} is not a file`);
}
