import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import type { PackageRequest } from "../../../packages/package-request.ts";
import { parseRequirementsFile } from "../../../packages/requirements/requirements-file.ts";
import { parseScriptHeader } from "../../../packages/requirements/script-header.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { PackageFlags } from "./package-options.ts";

/** What the command line and the header of a script ask for. */
export interface RequestedPackages {
  /** entries for `kernel.packages.install` */
  readonly install: readonly string[];
  /** who asked for each entry */
  readonly origins: ReadonlyMap<string, string>;
  /** empty: the policy's */
  readonly index: readonly string[];
  readonly requiresPython: string | undefined;
  readonly offline: boolean;
}

const mostBytes = 4 * 1024 * 1024;

/** Reads `--with`, `--requirements` and the PEP 723 header of a script, also one from stdin. */
export async function requestedPackages(
  flags: PackageFlags,
  { cwd }: Pick<Terminal, "cwd">,
  code?: Code,
): Promise<RequestedPackages> {
  const files = await Promise.all((flags.requirements ?? []).map((file) => readRequirements(file, cwd)));
  const header =
    code && code.from !== "argument" && code.language === "python" ? parseScriptHeader(code.text) : undefined;
  const requests = [...(flags.with ?? []).flatMap(typedRequest), ...files.flat(), ...(header?.requests ?? [])];
  const entries = requests.map((request) => [entryOf(request), request.from] as const);
  return {
    install: [...new Set(entries.map(([entry]) => entry))],
    origins: new Map(entries),
    index: flags["index-url"] ?? [],
    requiresPython: header?.requiresPython,
    offline: flags.offline === true,
  };
}

function typedRequest(text: string): PackageRequest[] {
  const requests = parseRequirementsFile(text, "--with");
  if (requests.length === 1) return requests.map((request) => ({ ...request, from: "--with" }));
  throw new CodecellError("usage", "--with needs the name of one package", {
    hint: "repeat it for more: --with pandas --with requests==2.32.3",
  });
}

/** A requirement with its hashes, as in a line of requirements.txt. */
function entryOf({ requirement, hashes = [] }: PackageRequest): string {
  return [requirement, ...hashes.map((hash) => `--hash=${hash}`)].join(" ");
}

async function readRequirements(file: string, cwd: string): Promise<PackageRequest[]> {
  const path = resolve(cwd, file);
  let text: string;
  try {
    const found = await stat(path);
    // A pipe or a device could send without end.
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > mostBytes) throw new Error(`it is larger than ${mostBytes} bytes`);
    text = await readFile(path, "utf8");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "it does not exist" : messageOf(cause);
    throw new CodecellError("usage", `--requirements ${file} cannot be read: ${reason}`, { cause });
  }
  return parseRequirementsFile(text, file);
}
