import { filePath, listFiles, readHead } from "./chain-files.ts";
import { ChainReader, type ChainReport } from "./chain-reader.ts";
import type { ChainHead } from "./event.ts";
import { type FileLine, readLines } from "./read-lines.ts";

export interface VerifyChainOptions {
  /** heads that somebody remembers: each must be a line of this chain, with that hash */
  readonly wanted?: readonly ChainHead[];
  readonly isLive?: boolean;
}

/** Reads a chain from its first line to its last and says everything that does not fit. */
export async function verifyChain(dir: string, chain: string, options: VerifyChainOptions = {}): Promise<ChainReport> {
  // Before the lines: what is written meanwhile comes on top.
  const head = await readHead(dir, chain);
  const files = await listFiles(dir, chain);
  const opened = files.map((number) => ({ number, lines: () => readLines(filePath(dir, chain, number)) }));
  return verifyFiles(chain, opened, head, options);
}

/** The same over lines from anywhere. */
export async function verifyFiles(
  chain: string,
  files: readonly { readonly number: number; lines(): AsyncIterable<FileLine> }[],
  head: Awaited<ReturnType<typeof readHead>>,
  { wanted = [], isLive = false }: VerifyChainOptions = {},
): Promise<ChainReport> {
  const reader = new ChainReader(chain, [
    ...wanted.map((one) => ({ ...one, by: "the head that was given" })),
    ...(typeof head === "object" ? [{ ...head, by: "the file head" }] : []),
  ]);
  for (const [index, { number, lines }] of files.entries()) {
    const before = files[index - 1]?.number;
    if (before !== undefined && number !== before + 1) reader.missingFiles(before + 1, number - 1);
    reader.begin(number);
    for await (const line of lines()) reader.read(line);
    reader.endFile({ isLast: index === files.length - 1, isLive });
  }
  if (head === "damaged") reader.problem(undefined, "the file head is not what is written there", "head");
  if (head === "missing" && reader.seq > 0) reader.problem(undefined, "the file head is missing", "head");
  return reader.report(files.length, isLive);
}
