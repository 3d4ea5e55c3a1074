import { spawn } from "node:child_process";
import { basename } from "node:path";
import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import { hostGrants } from "../../../policy/paths/host-grants.ts";
import type { Policy } from "../../../policy/schema.ts";
import { ownCommand } from "../setup/own-command.ts";
import type { Terminal } from "../shell/terminal.ts";
import { heldLocks } from "./ask-holder.ts";
import type { HolderSettings } from "./holder-settings.ts";
import { holderEnvironment } from "./warm-key.ts";

/** Each holder keeps cells in memory, so there are not as many as there are policies. */
const maxHolders = 8;

/** Starts a holder of warm cells for this policy, and does not wait for it. */
export async function startHolder(settings: HolderSettings, policy: Policy, terminal: Terminal): Promise<void> {
  const directory = warmDirectory(process.getuid?.() ?? 0, terminal.env.XDG_RUNTIME_DIR);
  const locks = directory === undefined ? [] : await heldLocks(directory);
  if (locks.some((path) => basename(path) === `${settings.key}.lock`)) return; // another call has just started it
  const crowd = `${locks.length} others are running; \`codecell warm stop\` stops them`;
  const obstacle = warmObstacle(policy) ?? (locks.length < maxHolders ? undefined : crowd);
  if (obstacle !== undefined) {
    if (terminal.stderr.isTTY) terminal.stderr.write(`codecell: the background process does not start: ${obstacle}\n`);
    return;
  }
  const [node, script] = ownCommand();
  const child = spawn(node, [script, "warm", "hold"], {
    cwd: "/", // it holds no directory that somebody wants to unmount
    env: holderEnvironment(terminal.env),
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C and the end of this terminal are not for it
  });
  await new Promise<void>((resolve) => {
    child.on("error", () => resolve()); // the next call runs the ordinary way as well
    child.stdin.on("close", resolve);
    child.stdin.on("error", () => resolve());
    child.stdin.end(JSON.stringify(settings), resolve);
  });
  child.unref();
}

/** Why cells of a policy cannot wait for their program. */
export function warmObstacle(policy: Policy): string | undefined {
  // The attack: a file that fs.deny hides is created after the cell started, and the program reads it.
  if (hostGrants(policy).length > 0)
    return "the policy shares host directories, which a cell sees as they were at its start";
  if (Object.keys(policy.net.secrets).length > 0)
    return "the policy has secrets, which only the caller's process reads";
  if (policy.kernel.packages.install.length > 0 || policy.kernel.packages.inside)
    return "the policy has packages, which each call prepares itself";
  return undefined;
}
