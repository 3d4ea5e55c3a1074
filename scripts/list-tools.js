// The last step of a build: writes what the MCP SDK answers a client that lists the tools, so that `codecell mcp` need not load the
// SDK for it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsetNames } from "../dist/service/tools/toolset-name.js";
import { listingFile } from "../dist/surfaces/mcp/front/listing.js";
import { makeListing } from "../dist/surfaces/mcp/make-listing.js";

const bundled = fileURLToPath(new URL("../dist/bundled", import.meta.url));
for (const tools of toolsetNames) {
  for (const structured of [false, true]) {
    for (const hasProcesses of [true, false]) {
      const options = { tools, structured, hasProcesses };
      const file = join(bundled, listingFile(options));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(await makeListing(options)));
    }
  }
}
