import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { HeldSecret } from "../../egress/process/session-keys.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { NetSecret } from "../../policy/network/net-secrets.ts";
import type { Policy } from "../../policy/schema.ts";

const longest = 4096;
/** Shorter values are easy to guess, and cannot be told from other text in a response. */
const shortest = 8;

/**
 * The values of a policy's secrets, each with a placeholder that nobody can guess. A value that is missing refuses the
 * session: a cell that sends its placeholder instead fails in a way that nobody understands.
 */
export function readSecrets(
  secrets: Policy["net"]["secrets"],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<HeldSecret[]> {
  return Promise.all(
    Object.entries(secrets).map(async ([name, secret]) => ({
      name,
      placeholder: `cc_secret_${randomBytes(16).toString("hex")}`,
      value: checked(name, await findValue(name, secret, environment)),
      hosts: [...new Set(secret.hosts.map((host) => host.split(":")[0] ?? host))],
    })),
  );
}

async function findValue(name: string, { from }: NetSecret, environment: NodeJS.ProcessEnv): Promise<string> {
  const [, kind, where = ""] = /^(env|file):(.*)$/s.exec(from) ?? [];
  if (kind === "file") return readValue(name, where);
  const value = environment[where];
  if (value !== undefined && value !== "") return value;
  throw unavailable(
    name,
    `the host's environment variable ${where} is not set`,
    `set ${where} before you start codecell`,
  );
}

async function readValue(name: string, path: string): Promise<string> {
  try {
    // Non-blocking: a pipe may never have a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > longest + 2) throw new Error("not a small regular file");
    return (await file.readFile("latin1")).replace(/\r?\n$/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unavailable(name, `${path} cannot be read (${code ?? "not a small file"})`, "write the value to that file");
  }
}

/** The attack: a value with a line break ends its header field and starts another one. */
function checked(name: string, value: string): string {
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw unavailable(
      name,
      "its value contains characters that are not allowed in a header",
      "use one line of printable ASCII",
    );
  }
  if (value.length < shortest || value.length > longest) {
    throw unavailable(
      name,
      `its value is shorter than ${shortest} or longer than ${longest} characters`,
      "use another",
    );
  }
  return value;
}

/** Names the place of the value, and nothing of its content. */
function unavailable(name: string, why: string, hint: string): CodecellError {
  return new CodecellError("secret_unavailable", `net.secrets.${name}: ${why}`, {
    hint,
    details: { rule: `net.secrets.${name}` },
  });
}
