// The second half of a build: bundles what people start and import into dist/bundled, because Node needs 0.4 s to load
// hundreds of small modules. The command line becomes scripts, the library modules. Entries lie in dist/bundled as their sources
// lie in src; see docs/adr/0024 and 0025.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const exported = Object.values(exports).flatMap((paths) => paths.default ?? []);
const library = exported.map((path) => path.replace(/^\.\/dist\/bundled\/(.*)\.js$/, "$1"));
const commandLine = ["surfaces/cli/main", "surfaces/cli/serve/mcp-entrance"];
const mcpFront = "surfaces/cli/serve/mcp-serve";
const mcpServer = "surfaces/mcp/stdio";
const runFront = "surfaces/cli/commands/run";
const runWarm = "surfaces/cli/warm/run-warm";
const runCommand = "surfaces/cli/sessions/run-in-fresh-cell";
const source = (entry) => join(root, "src", `${entry}.ts`);

/**
 * Left alone, the bundler makes a chunk for each set of entries that share a module: 200 chunks, and a start loads 80 of
 * them. These are larger. A module goes into the first one that holds it.
 */
const sharedChunks = [
  // what the client shares with the rest, without anything of Node: browsers load it
  { name: "pure", holds: ({ id, isBelow }) => isBelow("client/index") && !id.startsWith(join(root, "src", "client")) },
  { name: "start", holds: ({ isBelow }) => isBelow(...commandLine) }, // every command
  // what `codecell run` needs before it opens a session; a call with a warm cell needs nothing else
  { name: "front", holds: ({ isBelow }) => isBelow(mcpFront) && isBelow(runFront, runWarm) },
  { name: "run-front", holds: ({ isBelow }) => isBelow(runFront) || (isBelow(runWarm) && isBelow(runCommand)) },
  { name: "run-warm", holds: ({ isBelow }) => isBelow(runWarm) },
  // what answers a client that only lists the tools of the MCP server; other commands share the first of them
  { name: "common", holds: ({ isBelow }) => isBelow(mcpFront) && isBelow(runCommand) },
  { name: "mcp-front", holds: ({ isBelow }) => isBelow(mcpFront) },
  { name: "zod", holds: ({ id }) => id.includes("/node_modules/zod/") },
  // what the MCP server needs before it opens a session; commands that open one share the first of them
  { name: "service", holds: ({ isBelow }) => isBelow(mcpServer) && isBelow("index", runCommand) },
  { name: "mcp-sdk", holds: ({ id }) => id.includes("/node_modules/@modelcontextprotocol/server/") },
  { name: "tools", holds: ({ id, isBelow }) => isBelow(mcpServer) && id.startsWith(join(root, "src", "service")) },
  { name: "sessions", holds: ({ isBelow }) => isBelow("index") }, // everything that opens a session
  { name: "run", holds: ({ isBelow }) => isBelow(runCommand) },
  { name: "process-runner", holds: ({ isBelow }) => isBelow("runners/process/runner") },
  { name: "runners", holds: ({ isBelow }) => isBelow("runners/built-in-runners") },
];

const esModules = { format: "esm", chunkFileNames: "chunks/[name].js" };
/** V8's compiled code can be kept for scripts alone. Its files are named after these, so the names contain a hash. */
const scripts = { format: "cjs", entryFileNames: "[name].cjs", chunkFileNames: "scripts/[name].[hash].cjs" };

const modules = [
  ...(await bundle(library, { ...esModules, codeSplitting: { groups: groupsOf(sharedChunks) } })),
  ...(await bundle(commandLine, { ...scripts, codeSplitting: { groups: groupsOf(sharedChunks) } })),
  ...(await bundle(["surfaces/cli/launch/launch"], { ...scripts, codeSplitting: false })),
  // One file of its own: the process that parses untrusted requests holds no code that it does not need.
  ...(await bundle(["egress/process/proxy-process"], { ...esModules, codeSplitting: false })),
];
writeLicenses(modules);

/** Writes the entries and their chunks. Returns the files that they were made of. */
async function bundle(entries, shape) {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((entry) => [entry, source(entry)])),
    platform: "node",
    // Large or optional, and found by their place in node_modules.
    external: [/^pyodide(?:\/|$)/, /^@anthropic-ai\//, /^@kubernetes\//],
    resolve: { alias: { "@modelcontextprotocol/server/_shims": join(root, "scripts", "sdk-shims.js") } },
    transform: { target: "es2022" }, // Node 20 cannot parse `await using`
  });
  const { output } = await build.write({
    dir: join(root, "dist", "bundled"),
    comments: false, // a third of the text, which Node would read at every start
    sourcemap: true, // with the text of the sources, because the package does not contain src
    ...shape,
  });
  await build.close();
  return output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
}

/** The chunks as rolldown takes them. */
function groupsOf(chunks) {
  const closures = new Map();
  const closureOf = (entry, graph) => {
    if (!closures.has(entry)) closures.set(entry, staticImports(source(entry), graph));
    return closures.get(entry);
  };
  return chunks.map(({ name, holds }, index) => ({
    name: (id, graph) => {
      const isBelow = (...entries) => entries.some((entry) => closureOf(entry, graph).has(id));
      return holds({ id, isBelow }) ? name : null;
    },
    debugName: name,
    priority: chunks.length - index,
  }));
}

/** The modules that are loaded with an entry, without what they `import()`. */
function staticImports(entry, graph) {
  const found = new Set();
  const waiting = [entry];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...(graph.getModuleInfo(id)?.importedIds ?? []));
  }
  return found;
}

/** The licenses of packages whose code is in the bundle require that their text comes with it. */
function writeLicenses(modules) {
  const packages = new Set(modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  const texts = [...packages].sort().map((directory) => {
    const { name, version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    const file = readdirSync(directory).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no license file, so it cannot be bundled`);
    return `${name} ${version}\n\n${readFileSync(join(directory, file), "utf8").trim()}\n`;
  });
  writeFileSync(join(root, "dist", "bundled", "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}
