import { open } from "node:fs/promises";
import { extname, resolve } from "node:path";
import type { Readable } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import {
  defaultLanguage,
  type Language,
  languageNames,
  languageOfExtension,
  parseLanguage,
} from "../../../policy/languages.ts";
import type { Terminal } from "./terminal.ts";

/** The code to run, and where it came from: a file's last expression is not printed. */
export interface Code {
  readonly text: string;
  readonly from: "file" | "stdin" | "argument";
  readonly language: Language;
}

export interface CodeFlags {
  readonly code?: string | undefined;
  readonly language?: string | undefined;
}

/** a session takes 2 MiB; what is longer is not read to its end */
const maxBytes = 2 * 1024 * 1024;

export async function readCode(file: string | undefined, flags: CodeFlags, terminal: Terminal): Promise<Code> {
  const given = givenLanguage(flags.language);
  if (flags.code !== undefined) {
    if (file !== undefined) throw new CodecellError("usage", `both -c and ${JSON.stringify(file)} name code to run`);
    return { text: flags.code, from: "argument", language: given ?? defaultLanguage };
  }
  if (file === undefined && terminal.stdin.isTTY) {
    throw new CodecellError("usage", "there is no code to run", {
      hint: "name a file, pass -c CODE, or start `codecell repl`",
    });
  }
  if (file === undefined || file === "-") {
    return { text: await readText(terminal.stdin, "stdin"), from: "stdin", language: given ?? defaultLanguage };
  }
  // A file that is not there, or no file, is told before its name is.
  const text = await readFileText(resolve(terminal.cwd, file), file);
  return { text, from: "file", language: given ?? languageOfFile(file) };
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
  throw new CodecellError("usage", `the extension of ${JSON.stringify(file)} does not tell its language`, {
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
    const reason = { ENOENT: "does not exist", EISDIR: "is a directory", EACCES: "may not be read" }[code ?? ""];
    // Node hands a name on with this character in the place of bytes that are no UTF-8, and then nothing is there.
    const hint = shown.includes("\ufffd")
      ? "its name is not UTF-8: rename it, or send it with `codecell run - <FILE`"
      : "";
    throw new CodecellError("usage", `${shown} ${reason ?? "cannot be read"}`, { cause, ...(hint && { hint }) });
  }
}

async function readText(stream: Readable, shown: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > maxBytes) {
      throw new CodecellError("too_large", `${shown} has more than ${maxBytes} bytes of code`, {
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
