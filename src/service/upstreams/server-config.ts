import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json/parse-json.ts";

/** An MCP server as the operator configured it. */
export type UpstreamConfig =
  | {
      readonly kind: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly kind: "http";
      readonly name: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

const maxServers = 32;
const serverName = /^[A-Za-z0-9_.-]{1,64}$/;

/** Clients keep settings of their own in these entries, so that other keys are accepted. */
const entrySchema = z.union([
  z.object({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
    cwd: z.string().optional(),
    type: z.literal("stdio").optional(),
    disabled: z.boolean().default(false),
  }),
  z.object({
    url: z.string(),
    headers: z.record(z.string(), z.string()).default({}),
    type: z.enum(["http", "streamable-http"]).optional(),
    disabled: z.boolean().default(false),
  }),
]);
type Entry = z.output<typeof entrySchema>;

const expectedEntry = 'expected {"command", "args", "env"} or {"type": "http", "url", "headers"}';
const fileSchema = z.object({ mcpServers: z.record(z.string(), z.unknown()) });

/**
 * Reads the `mcpServers` of a JSON text, as MCP clients write it. `${NAME}` and `${NAME:-default}` are replaced from `env`.
 * Throws `usage` with the name of the entry.
 */
export function parseServers(text: string, file: string, env: Readonly<Record<string, string | undefined>>) {
  const servers = Object.entries(serversIn(text, file));
  if (servers.length > maxServers) throw invalid(file, `it has more than ${maxServers} servers`);
  return servers.flatMap(([name, value]): UpstreamConfig[] => {
    if (!serverName.test(name))
      throw invalid(file, `${JSON.stringify(name)} is not a name of letters, digits, -, _ and .`);
    const parsed = entrySchema.safeParse(value);
    if (!parsed.success) throw invalid(file, `${name}: ${expectedEntry}`);
    return parsed.data.disabled ? [] : [configOf(name, parsed.data, (text) => replaced(text, name, file, env), file)];
  });
}

function serversIn(text: string, file: string): Record<string, unknown> {
  try {
    return fileSchema.parse(parseJson(text)).mcpServers;
  } catch (cause) {
    const why = cause instanceof z.ZodError ? 'it has no "mcpServers"' : "it is not JSON";
    throw invalid(file, why, cause);
  }
}

function configOf(name: string, entry: Entry, replace: (text: string) => string, file: string): UpstreamConfig {
  const record = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, replace(value)]));
  if ("url" in entry) {
    const url = replace(entry.url);
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw invalid(file, `${name}: ${expectedEntry}`);
    return { kind: "http", name, url, headers: record(entry.headers) };
  }
  return {
    ...{ kind: "stdio", name, command: replace(entry.command), args: entry.args.map(replace), env: record(entry.env) },
    ...(entry.cwd === undefined ? {} : { cwd: replace(entry.cwd) }),
  };
}

function replaced(text: string, name: string, file: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, variable: string, fallback?: string) => {
    const value = env[variable] ?? fallback;
    if (value === undefined) throw invalid(file, `${name}: the environment variable ${variable} is not set`);
    return value;
  });
}

function invalid(file: string, why: string, cause?: unknown): CodecellError {
  return new CodecellError("usage", `${file} does not describe MCP servers: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: 'write {"mcpServers": {"docs": {"command": "docs-server", "args": []}}}',
  });
}
