/** What an expression may name: the dot, variables, and functions. */
export interface Scope {
  readonly dot: unknown;
  readonly variables: Map<string, unknown>;
  readonly functions: Readonly<Record<string, (...values: never[]) => unknown>>;
}

/** Evaluates a pipeline such as `.Values.image.tag | default .Chart.AppVersion | quote`. */
export function evaluate(source: string, scope: Scope): unknown {
  const tokens = source.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|"]+/g) ?? [];
  const value = pipeline(tokens, scope);
  if (tokens.length > 0) throw new Error(`cannot read ${tokens.join(" ")} in ${source}`);
  return value;
}

/** Takes tokens from the front. The value of a command is the last argument of the next one. */
function pipeline(tokens: string[], scope: Scope): unknown {
  let value = command(tokens, scope, []);
  while (tokens[0] === "|") {
    tokens.shift();
    value = command(tokens, scope, [value]);
  }
  return value;
}

function command(tokens: string[], scope: Scope, piped: readonly unknown[]): unknown {
  const name = tokens[0] ?? "";
  if (!/^[a-zA-Z]\w*$/.test(name) || name === "true" || name === "false") {
    if (piped.length > 0) throw new Error(`${name} takes no value`);
    return term(tokens, scope);
  }
  tokens.shift();
  const known = scope.functions[name];
  if (known === undefined) throw new Error(`the chart may not use ${name}: the fake of Helm does not know it`);
  const values: unknown[] = [];
  while (tokens.length > 0 && tokens[0] !== "|" && tokens[0] !== ")") values.push(term(tokens, scope));
  return known(...([...values, ...piped] as never[]));
}

function term(tokens: string[], scope: Scope): unknown {
  const token = tokens.shift() ?? "";
  if (token === "(") {
    const value = pipeline(tokens, scope);
    if (tokens.shift() !== ")") throw new Error("a bracket is not closed");
    return value;
  }
  if (/^(?:"|\d|true$|false$)/.test(token)) return JSON.parse(token);
  const [, variable, path] = /^(\$\w*)?((?:\.\w*)*)$/.exec(token) ?? [];
  if (path === undefined) throw new Error(`cannot read ${token}`);
  if (variable !== undefined && !scope.variables.has(variable)) throw new Error(`unknown variable ${variable}`);
  const start = variable === undefined ? scope.dot : scope.variables.get(variable);
  const names = path.split(".").filter((name) => name !== "");
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], start);
}

/** What Go's templates take as false. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
