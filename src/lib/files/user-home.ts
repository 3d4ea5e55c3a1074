import { homedir, userInfo } from "node:os";
import { isAbsolute } from "node:path";
import process from "node:process";

/**
 * The user's home directory: `HOME`, else the one of the account. An empty or relative `HOME` is ignored, because it would mean a
 * place below the working directory. Undefined: the account has none either, as in some containers.
 */
export function userHome(environment: NodeJS.ProcessEnv = process.env, account = accountDirectory): string | undefined {
  return [environment.HOME, systemHome(), account()].find((place) => place !== undefined && isAbsolute(place));
}

function systemHome(): string | undefined {
  return withoutEntry(homedir);
}

function accountDirectory(): string | undefined {
  return withoutEntry(() => userInfo().homedir);
}

/** Node throws for a uid without an entry in the list of users. */
function withoutEntry(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
