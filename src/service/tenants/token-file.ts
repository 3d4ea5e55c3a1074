import { open } from "node:fs/promises";
import { CodecellError, messageOf } from "../../lib/errors.ts";

const shortestToken = 16;

/** Reads a token from a file that only its owner can read. */
export async function readTokenFile(path: string): Promise<string> {
  const hint = "write a long random string to it and run chmod 600 on it";
  const file = await open(path, "r").catch((error: unknown) => {
    throw new CodecellError("usage", `--token-file: ${messageOf(error)}`, { hint });
  });
  try {
    const stats = await file.stat();
    // The attack: another user of this machine reads the token and runs code here.
    if (!stats.isFile() || (stats.mode & 0o077) !== 0) {
      throw new CodecellError("usage", `--token-file ${path} can be read by others`, { hint: `chmod 600 ${path}` });
    }
    const token = (await file.readFile("utf8")).trim();
    if (token.length < shortestToken || /\s/.test(token)) {
      throw new CodecellError("usage", `a token needs at least ${shortestToken} characters and no spaces`, { hint });
    }
    return token;
  } finally {
    await file.close();
  }
}
