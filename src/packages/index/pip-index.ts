import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { userHome } from "../../lib/files/user-home.ts";
import { packageError } from "../package-error.ts";

const run = promisify(execFile);
const variables = ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];

/** Where this user's pip or uv takes packages from; undefined: nothing is configured. */
export async function findPipIndex(
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly address: string; readonly from: string } | undefined> {
  for (const name of variables) {
    const address = environment[name]?.trim();
    if (address) return { address: address.replace(/^[A-Za-z0-9_-]+=(?=https?:)/, ""), from: name };
  }
  for (const path of configurationFiles(environment)) {
    const address = indexOf(await readFile(path, "utf8").catch(() => ""));
    if (address !== undefined) return { address, from: path };
  }
  return undefined;
}

/** As pip reads them, the strongest first. */
function configurationFiles(environment: NodeJS.ProcessEnv): string[] {
  const home = userHome(environment);
  const { PIP_CONFIG_FILE: named, VIRTUAL_ENV: venv, XDG_CONFIG_HOME: config = "" } = environment;
  if (named === "/dev/null") return [];
  const settings = [isAbsolute(config) ? config : home && join(home, ".config")].filter((path) => path !== undefined);
  // The attack: a relative path reads the index from a file that comes with the project.
  const shared = (environment.XDG_CONFIG_DIRS ?? "/etc/xdg").split(":").filter(isAbsolute);
  return [
    ...(named ? [named] : []),
    ...(venv ? [join(venv, "pip.conf")] : []),
    ...settings.map((directory) => join(directory, "pip", "pip.conf")),
    ...(home ? [join(home, ".pip", "pip.conf")] : []),
    ...[...shared.map((directory) => join(directory, "pip", "pip.conf")), "/etc/pip.conf"],
  ];
}

/** `index-url` of [install], else of [global], in an INI file. `extra-index-url` is not used: it mixes indexes. */
export function indexOf(text: string): string | undefined {
  const found = new Map<string, string>();
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    const header = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (header !== undefined) section = header.trim();
    const value = /^index[-_]url\s*[=:]\s*(\S+)\s*$/i.exec(line)?.[1];
    if (value !== undefined) found.set(section, value);
  }
  return found.get("install") ?? found.get("global");
}

/** pip knows its default; this project names nobody's. A Python without pip has one packed into ensurepip. */
const program = `
import sys
try:
    import pip
except ImportError:
    import ensurepip, glob, os
    sys.path[:0] = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
`;

/** Asks the host's own Python, isolated from the working directory and from Python's variables. */
export async function readBuiltInIndex(environment: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await run("python3", ["-I", "-c", program], {
      ...{ timeout: 10_000, maxBuffer: 4096, cwd: "/" },
      env: { PATH: environment.PATH ?? "/usr/bin:/bin", HOME: environment.HOME ?? "/" },
    });
    return stdout.trim();
  } catch (error) {
    throw packageError("index", "no package index is configured, and this machine's Python has no pip with a default", {
      hint: "name one in the policy: kernel.packages.index: [https://packages.example/simple]",
      cause: error,
    });
  }
}
