import type { ChainHead } from "../event.ts";
import { type FileLine, readLines } from "../read-lines.ts";
import { genesisHash } from "./chain.ts";
import { filePath, listFiles, readHead } from "./chain-files.ts";
import { ChainReader, type ChainReport, theHeadFile } from "./chain-reader.ts";

export interface VerifyChainOptions {
  /** remembered heads: each must be a line of this chain, with that hash */
  readonly wanted?: readonly ChainHead[];
  readonly isLive?: boolean;
}

/** Reads a whole chain and reports all its problems. */
export async function verifyChain(dir: string, chain: string, options: VerifyChainOptions = {}): Promise<ChainReport> {
  // Read the head before the lines, because a writer may add lines meanwhile.
  const head = await readHead(dir, chain);
  const files = await listFiles(dir, chain);
  const opened = files.map((number) => ({ number, lines: () => readLines(filePath(dir, chain, number)) }));
  return verifyFiles(chain, opened, head, options);
}

/** The same for lines from any source. */
export async function verifyFiles(
  chain: string,
  files: readonly { readonly number: number; lines(): AsyncIterable<FileLine> }[],
  head: Awaited<ReturnType<typeof readHead>>,
  { wanted = [], isLive = false }: VerifyChainOptions = {},
): Promise<ChainReport> {
  const remembered = [
    ...wanted.map((one) => ({ ...one, by: "the head that was given" })),
    ...(typeof head === "object" ? [{ ...head, by: theHeadFile }] : []),
  ];
  const reader = new ChainReader(
    chain,
    remembered.filter(({ seq }) => seq > 0),
  );
  for (const { seq, hash, by } of remembered) {
    if (seq === 0 && hash !== genesisHash(chain)) reader.problem(undefined, `is not the chain that ${by} names`);
  }
  for (const [index, { number, lines }] of files.entries()) {
    const before = files[index - 1]?.number;
    if (before !== undefined && number !== before + 1) reader.missingFiles(before + 1, number - 1);
    reader.begin(number);
    for await (const line of lines()) reader.read(line);
    reader.endFile({ isLast: index === files.length - 1, isLive });
  }
  if (head === "damaged") reader.problem(undefined, "the file head is damaged", "head");
  // The head is written before the first line. The attack: removing it, to hide that the last lines are missing.
  if (reader.seq > 0 && (head === "missing" || head === "empty")) {
    reader.problem(undefined, `the file head is ${head}`, "head");
  }
  return reader.report(files.length, isLive);
}
