#!/usr/bin/env node
const entrance = process.argv[2] === "mcp" ? "serve/mcp-entrance.js" : "main.js";
const { main } = await import(`../dist/bundled/surfaces/cli/${entrance}`);

process.exitCode = await main(process.argv.slice(2));
