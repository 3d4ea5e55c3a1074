#!/usr/bin/env node
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const bundled = fileURLToPath(new URL("../dist/bundled", import.meta.url));
const { launch } = createRequire(import.meta.url)(`${bundled}/surfaces/cli/launch/launch.cjs`);

process.exitCode = await launch(process.argv.slice(2), bundled);
