import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { open } from "node:fs/promises";
import { CodecellError, messageOf } from "../../lib/errors.ts";

const shortestToken = 16;

export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Reads a token that only its owner can read. */
export async function readTokenFile(path: string): Promise<string> {
  const hint = "write a long random text into it and chmod 600 it";
  const file = await open(path, "r").catch((error: unknown) => {
    throw new CodecellError("usage", `--token-file: ${messageOf(error)}`, { hint });
  });
  try {
    const stats = await file.stat();
    // Whoever reads the token runs code here: another user of this machine must not.
    if (!stats.isFile() || (stats.mode & 0o077) !== 0) {
      throw new CodecellError("usage", `--token-file ${path} can be read by others`, { hint: `chmod 600 ${path}` });
    }
    const token = (await file.readFile("utf8")).trim();
    if (token.length < shortestToken || /\s/.test(token)) {
      throw new CodecellError("usage", `the token has to have at least ${shortestToken} characters and no spaces`, {
        hint,
      });
    }
    return token;
  } finally {
    await file.close();
  }
}

/** Compares digests in constant time, so that the time of an answer tells nothing about the token. */
export function bearerCheck(token: string): (header: string | undefined) => boolean {
  const expected = digest(token);
  return (header) => {
    const given = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
    return given !== undefined && timingSafeEqual(digest(given), expected);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
