import { join } from "node:path";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { isObeyedByHost } from "../../policy/paths/deny.ts";
import type { StartHostCheck } from "./host-check.ts";

// Control characters, and those that change the direction or hide text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff]/;

/** Sees text of the program in a note that codecell would say in its own voice: a line of its own, or hidden characters. */
export const watchVoice: StartHostCheck = async () => async (result) => {
  const forged = result.notes.find((note) => unsafe.test(note));
  return forged === undefined ? undefined : `a note has characters of the program: ${JSON.stringify(forged)}`;
};

/** Sees a file that tools on the host obey, which the result does not name. The attack puts its name below `mine`. */
export const watchPlants: StartHostCheck =
  async ({ mine, cells }) =>
  async (result) => {
    await removeTree(join(cells.host.shown.writable, mine));
    const told = result.notes.some((note) => note.includes(mine));
    const listed = result.leftOut.some(({ name }) => name.includes(mine) && isObeyedByHost(name));
    const served = result.artifacts.find(({ name }) => name.includes(mine) && isObeyedByHost(name));
    if (served !== undefined) return `a file that tools on the host obey was served: ${served.name}`;
    return told && listed ? undefined : "the result does not name the planted file";
  };
