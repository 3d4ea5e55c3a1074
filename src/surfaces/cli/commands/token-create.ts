import { CodecellError } from "../../../lib/errors.ts";
import { duration } from "../../../policy/units.ts";
import { type Scope, scopes } from "../../../service/tenants/scope.ts";
import type { Command, CommandContext } from "../command.ts";
import { tokenJson, tokenText } from "../format/format-tokens.ts";
import { withTokens } from "../sessions/open-tokens.ts";
import { tokenOptions } from "../sessions/token-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { parseCount } from "../shell/parse-count.ts";

const options = {
  name: { type: "string", value: "NAME", help: "The same as NAME." },
  scopes: { type: "string", value: "LIST", help: `Comma-separated scopes: ${scopes.join(", ")}. Default: run.` },
  sessions: { type: "string", value: "N", help: "Maximum number of sessions, including saved ones. Default: 5." },
  expires: { type: "string", value: "12h", help: "Lifetime of the token. Default: until it is removed." },
  ...tokenOptions,
  ...commonOptions,
} as const;

export const tokenCreateCommand: Command = {
  name: "token create",
  summary: "Create a token for `codecell serve`",
  usage: "codecell token create NAME [options]",
  options,
  notes: [
    "NAME says whose token it is. The token is shown only once; only its sha256 is stored. A running service accepts it at once.",
    "Scopes: run allows sessions, code and files. read allows reading them. audit allows reading their audit events. metrics allows /metrics. admin allows all of these, and the audit of every token.",
  ],
  examples: [
    ["codecell token create alice --sessions 3", "a tenant with at most three sessions"],
    ["codecell token create prometheus --scopes metrics", "for monitoring"],
    [
      "codecell token create alice --database postgres://codecell@db/codecell?sslmode=verify-full",
      "for every gateway of that database",
    ],
  ],
  run: runTokenCreate,
};

async function runTokenCreate(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("token create", argv, options, 1);
  const [operand] = positionals;
  if (values.name !== undefined && operand !== undefined && values.name !== operand) {
    throw new CodecellError(
      "usage",
      `two names are given: ${JSON.stringify(operand)} and ${JSON.stringify(values.name)}`,
    );
  }
  const name = values.name ?? operand;
  if (name === undefined) {
    throw new CodecellError("usage", "`codecell token create` needs NAME", {
      hint: "name its user, as in `codecell token create alice`",
    });
  }
  const now = Date.now();
  const expiresMs = values.expires === undefined ? undefined : now + parseLifetime(values.expires);
  const token = {
    ...{ name, scopes: parseScopes(values.scopes ?? "run"), expiresMs },
    sessions: parseCount("--sessions", values.sessions ?? "5", { min: 1, max: 10_000 }),
  };
  const made = await withTokens(values, terminal, (tokens) => tokens.create(token, now));
  terminal.stdout.write(values.json ? tokenJson(made) : tokenText(made));
  return 0;
}

function parseScopes(text: string): Scope[] {
  return text.split(",").map((word) => {
    const scope = scopes.find((one) => one === word.trim());
    if (scope !== undefined) return scope;
    throw new CodecellError("usage", `unknown scope ${JSON.stringify(word)}`, {
      hint: `use one or more of: ${scopes.join(", ")}`,
    });
  });
}

function parseLifetime(text: string): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days !== undefined) return Number(days) * 24 * 3_600_000;
  const parsed = duration().safeParse(text);
  if (parsed.success) return parsed.data;
  throw new CodecellError("usage", `--expires ${text} is not a valid duration`, {
    hint: "use a value such as 12h or 30d",
  });
}
