import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import type { LmRequest, LmResponse } from "../client.ts";
import { hashOf, requestParts } from "../request-hash.ts";
import { storedResponse, tapedResponse } from "../tape/tape-line.ts";

const entrySchema = z.object({ v: z.literal(1), key: z.string(), sha256: z.string(), response: storedResponse });
const maxEntryBytes = 32 * 1024 * 1024;

/**
 * Answers by the content of their requests, one file each, readable only by their owner. It has no limit of size or age: delete the
 * directory to empty it.
 */
export class AnswerCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Whether answers to a request are kept. A request with a temperature above 0 asks for variety. */
  static accepts({ temperature = 0 }: LmRequest): boolean {
    return temperature <= 0;
  }

  /** The kept answer. A missing or damaged file is a miss. */
  async get(server: string, request: LmRequest): Promise<LmResponse | undefined> {
    if (!AnswerCache.accepts(request)) return undefined;
    const key = keyOf(server, request);
    try {
      await using file = await closing(this.#path(key));
      if ((await file.handle.stat()).size > maxEntryBytes) return undefined;
      const entry = entrySchema.parse(JSON.parse(await file.handle.readFile("utf8")));
      // the attack: a file that was renamed or edited to answer another question
      if (entry.key !== key || entry.sha256 !== hashOf(entry.response)) return undefined;
      return tapedResponse(entry.response);
    } catch {
      return undefined;
    }
  }

  /** Keeps a complete answer. A full disk loses the entry, and not the answer, which is paid for. */
  async put(server: string, request: LmRequest, response: LmResponse): Promise<void> {
    if (!AnswerCache.accepts(request) || response.stop !== "end") return;
    const key = keyOf(server, request);
    try {
      await makeDirectories(this.#directory, 0o700);
      // through the schema, so that the hash is of what will be read
      const stored = storedResponse.parse(response);
      const entry = { v: 1, key, sha256: hashOf(stored), response: stored };
      await writeFileAtomically(this.#path(key), JSON.stringify(entry));
    } catch {
      // the next call asks the model again
    }
  }

  #path(key: string): string {
    return join(this.#directory, `${key}.json`);
  }
}

/** The server is part of the key: two servers may have models of the same name. */
function keyOf(server: string, request: LmRequest): string {
  return hashOf([server, requestParts(request)]);
}

async function closing(path: string) {
  const handle = await open(path, "r");
  return { handle, [Symbol.asyncDispose]: () => handle.close() };
}
