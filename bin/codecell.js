#!/usr/bin/env node
// CommonJS, because Node loads its module loader only for modules, which takes 5 ms.
const { join } = require("node:path");

const bundled = join(__dirname, "..", "dist", "bundled");
const { launch } = require(join(bundled, "surfaces", "cli", "launch", "launch.cjs"));

launch(process.argv.slice(2), bundled).then((exitCode) => {
  process.exitCode = exitCode;
});
