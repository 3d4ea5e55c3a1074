import { open } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { userHome } from "../../lib/files/user-home.ts";

/** What a line of a password file is for. */
export interface PasswordKey {
  /** a name, an address, or the directory of a Unix socket */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

const maxFileBytes = 1024 * 1024;

/**
 * The password of `$PGPASSFILE` or `~/.pgpass`; undefined: there is none. It is read here, because `pg` warns about its own reader
 * on stderr, and will lose it.
 */
export async function passwordFromFile(
  key: PasswordKey,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const home = userHome(environment);
  const path = environment.PGPASSFILE || (home && join(home, ".pgpass"));
  const file = path && (await open(path, "r").catch(() => undefined));
  if (!file) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > maxFileBytes) return undefined;
    // The attack: whoever reads or changes the file has the database, or makes this service use another one's password.
    if ((stats.mode & 0o077) !== 0) {
      throw new CodecellError("usage", "the file with the password of the database can be read by others", {
        hint: `chmod 600 ${path}`,
      });
    }
    return passwordIn(await file.readFile("utf8"), key);
  } finally {
    await file.close();
  }
}

/** Pure: the password of the first line that fits. Lines are `host:port:database:user:password`; `*` fits everything. */
export function passwordIn(text: string, { host, port, database, user }: PasswordKey): string | undefined {
  // As psql does: `localhost` means the Unix socket too.
  const hosts = host.startsWith("/") ? [host, "localhost"] : [host];
  const wanted = [hosts, [String(port)], [database], [user]];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = fieldsOf(line);
    const password = fields.slice(wanted.length).join(":");
    const fits = wanted.every((values, at) => fields[at] === "*" || values.includes(fields[at] ?? ""));
    if (fits && password !== "") return password;
  }
  return undefined;
}

/** The parts between colons. A backslash takes the meaning from the character behind it. */
function fieldsOf(line: string): string[] {
  const fields: string[] = [];
  let field = "";
  for (let at = 0; at < line.length; at++) {
    if (line[at] === ":") {
      fields.push(field);
      field = "";
      continue;
    }
    if (line[at] === "\\" && at + 1 < line.length) at++;
    field += line[at];
  }
  return [...fields, field];
}
