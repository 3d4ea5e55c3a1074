// Before a build: a file whose source is gone would otherwise stay in dist, be packed, and be found by an import.
import { rmSync } from "node:fs";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
