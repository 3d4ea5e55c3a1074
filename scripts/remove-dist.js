// Runs before a build. Otherwise a file whose source was deleted would stay in dist, be published, and be importable.
import { rmSync } from "node:fs";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
