import { open, readdir } from "node:fs/promises";
import { basename, dirname, extname, resolve, sep } from "node:path";
import type { Readable } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import {
  defaultLanguage,
  type Language,
  languageNames,
  languageOfExtension,
  parseLanguage,
} from "../../../policy/languages.ts";
import type { Terminal } from "./terminal.ts";

/** The code to run and its source, because the last expression of a file is not printed. */
export interface Code {
  readonly text: string;
  readonly from: "file" | "stdin" | "argument";
  readonly language: Language;
  /** name of the file, without its directory */
  readonly name?: string;
  /** the directory of the file, and as it was typed */
  readonly beside?: { readonly path: string; readonly shown: string };
}

export interface CodeFlags {
  readonly code?: string | undefined;
  readonly language?: string | undefined;
}

/** The size limit of a session. Longer code is not read to the end. */
const maxBytes = 2 * 1024 * 1024;

export async function readCode(file: string | undefined, flags: CodeFlags, terminal: Terminal): Promise<Code> {
  const given = givenLanguage(flags.language);
  if (flags.code !== undefined) {
    if (file !== undefined) {
      throw new CodecellError("usage", `-c and ${JSON.stringify(file)} cannot be combined`, {
        hint: "arguments of the program come after `--`: codecell run -c CODE -- ARGUMENTS",
      });
    }
    return { text: flags.code, from: "argument", language: given ?? defaultLanguage };
  }
  if (file === undefined && terminal.stdin.isTTY) {
    throw new CodecellError("usage", "no code to run", {
      hint: "name a file, pass -c CODE, or start `codecell repl`",
    });
  }
  if (file === undefined || file === "-") {
    return { text: await readText(terminal.stdin, "stdin"), from: "stdin", language: given ?? defaultLanguage };
  }
  // Read the file first: a missing file is reported before an unknown extension.
  const path = resolve(terminal.cwd, file);
  const text = await readFileText(path, file);
  const beside = { path: dirname(path), shown: dirname(file) };
  return { text, from: "file", language: given ?? languageOfFile(file), name: basename(file), beside };
}

function givenLanguage(text: string | undefined): Language | undefined {
  const language = text === undefined ? undefined : parseLanguage(text);
  if (text === undefined || language !== undefined) return language;
  throw new CodecellError("usage", `unknown language ${JSON.stringify(text)}`, {
    hint: `use one of: ${languageNames.join(", ")}`,
  });
}

function languageOfFile(file: string): Language {
  const language = languageOfExtension(extname(file));
  if (language !== undefined) return language;
  throw new CodecellError("usage", `cannot tell the language of ${JSON.stringify(file)} from its extension`, {
    hint: `pass ${languageNames.map((name) => `--language ${name}`).join(" or ")}`,
  });
}

async function readFileText(path: string, shown: string): Promise<string> {
  try {
    await using file = await open(path, "r");
    return await readText(file.createReadStream({ autoClose: false }), shown);
  } catch (cause) {
    if (cause instanceof CodecellError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const reason = { ENOENT: "does not exist", EISDIR: "is a directory", EACCES: "cannot be read: permission denied" }[
      code ?? ""
    ];
    const hint = ["ENOENT", "ENAMETOOLONG"].includes(code ?? "") ? await missingHint(path, shown) : undefined;
    throw new CodecellError("usage", `${shown} ${reason ?? "cannot be read"}`, { cause, ...(hint && { hint }) });
  }
}

/** What was probably meant by an operand that is no file. */
async function missingHint(path: string, shown: string): Promise<string | undefined> {
  // Node replaces bytes that are not UTF-8 with this character, and then the file is not found.
  if (shown.includes("\ufffd"))
    return "the file name is not UTF-8: rename the file, or pipe it with `codecell run - <FILE`";
  if (/^https?:\/\//i.test(shown)) return "download it first, then run the file";
  const near = nearest(basename(path), await filesIn(dirname(path)));
  if (near !== undefined) return `did you mean ${shown.slice(0, shown.lastIndexOf(sep) + 1)}${near}?`;
  return /[\s()[\]{}'"=;+*]/.test(shown) ? "to run code, use -c CODE" : undefined;
}

/** The first files of a directory, as many as a command can compare without a delay. */
async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).slice(0, 1000);
}

async function readText(stream: Readable, shown: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > maxBytes) {
      throw new CodecellError("too_large", `${shown} is larger than ${maxBytes} bytes`, {
        hint: "mount large data with --mount and read it from there",
      });
    }
    chunks.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new CodecellError("usage", `${shown} is not UTF-8 text`, { cause });
  }
}
