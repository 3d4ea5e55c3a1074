import { hash } from "node:crypto";
import { chmod, lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { removeDisk } from "../../runners/linux/disk/image/session-disk.ts";

/**
 * The directories of one store's sessions on this machine. They are apart from everything else, so that cells see nothing else, and
 * apart from those of other stores: a store removes the directories that none of its sessions names.
 */
export class SessionWorkspaces {
  readonly directory: string;

  private constructor(root: string, sharedStore: string | undefined) {
    const suffix = sharedStore === undefined ? "" : `-${hash("sha256", sharedStore).slice(0, 12)}`;
    this.directory = join(root, `workspaces${suffix}`);
  }

  /**
   * Opens the workspaces of a state directory, which is made if it is missing and must belong to this user alone. `sharedStore` names
   * the store if it is not the state directory itself.
   */
  static async open(root: string, { sharedStore }: { sharedStore?: string } = {}): Promise<SessionWorkspaces> {
    const workspaces = new SessionWorkspaces(root, sharedStore);
    // If codecell runs as root, cells have another uid: they may traverse the directory to their workspace, but not list it.
    const passable = process.getuid?.() === 0 ? 0o711 : 0o700;
    await makeDirectories(root, passable);
    const stats = await lstat(root);
    if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o022) !== 0) {
      throw new CodecellError("usage", `${root} is not a directory that only this user can write`, {
        hint: "remove it, or set XDG_STATE_HOME to a private directory",
      });
    }
    await chmod(root, passable);
    await makeDirectories(workspaces.directory, passable);
    return workspaces;
  }

  /** Names of workspaces that exist, whoever they belong to. */
  list(): Promise<string[]> {
    return readdir(this.directory);
  }

  /** Whether it is on this machine: a directory, or a link to a disk of its own. */
  async has(name: string): Promise<boolean> {
    return lstat(join(this.directory, name)).then(
      () => true,
      () => false,
    );
  }

  /** The uid that owns a workspace. */
  async owner(name: string): Promise<number> {
    return (await stat(join(this.directory, name))).uid;
  }

  async remove(name: string): Promise<void> {
    if (await removeDisk({ root: this.directory, name })) return;
    await removeTree(join(this.directory, name));
  }
}
