// A step of the build: writes the table of commands as data, so that completing a word in a shell loads no command.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commands } from "../dist/surfaces/cli/commands.js";
import { commandListFile, makeCommandList } from "../dist/surfaces/cli/completion/command-list.js";

const bundled = fileURLToPath(new URL("../dist/bundled", import.meta.url));
writeFileSync(join(bundled, commandListFile), JSON.stringify(await makeCommandList(commands)));
