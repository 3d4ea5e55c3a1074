import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import type { ChainHead } from "../../../service/audit/audit-files.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The last line of a chain as one word: `<chain>:<number>:<hash>`. */
export function headWord({ chain, seq, hash }: ChainHead): string {
  return `${chain}:${seq}:${hash}`;
}

/** The heads from `--head` and `--heads`. */
export async function readHeads(
  flags: { readonly head?: string[] | undefined; readonly heads?: string | undefined },
  { cwd }: Pick<Terminal, "cwd">,
): Promise<ChainHead[]> {
  const lines = flags.heads === undefined ? [] : await readHeadFile(resolve(cwd, flags.heads));
  return [...(flags.head ?? []), ...lines].map(parseHead);
}

async function readHeadFile(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new CodecellError("usage", `--heads: ${messageOf(error)}`, { cause: error });
  });
  return text
    .split("\n")
    .map((line) => line.trim().split(/\s/)[0] ?? "")
    .filter((word) => word !== "");
}

function parseHead(text: string): ChainHead {
  const match = /^(c-[0-9a-f]{16}(?:\.ns-[0-9a-f]{12})?):(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  const [, chain, seq, hash] = match ?? [];
  if (chain !== undefined && seq !== undefined && hash !== undefined) return { chain, seq: Number(seq), hash };
  throw new CodecellError("usage", `${JSON.stringify(text.slice(0, 120))} is not a valid head`, {
    hint: "use <chain>:<number>:<hash>, as `codecell audit head` prints it",
  });
}
