import { explainVersion, parseRange, rangeContains } from "./version-range.ts";

/** A condition of PEP 508: `python_version < "3.11" and extra == "test"`. */
export type Marker =
  | { readonly kind: "and"; readonly parts: readonly Marker[] }
  | { readonly kind: "or"; readonly parts: readonly Marker[] }
  | { readonly kind: "compare"; readonly left: Operand; readonly operator: string; readonly right: Operand };

type Operand = { readonly variable: string } | { readonly text: string };
/** The values of the variables; `extra` is given apart. */
export type MarkerEnvironment = Readonly<Record<string, string>>;

type Token =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "word" | "operator" | "open" | "close"; readonly value: string };

const variables = new Set([
  ...["os_name", "sys_platform", "platform_machine", "platform_python_implementation", "platform_release"],
  ...["platform_system", "platform_version", "python_version", "python_full_version", "implementation_name"],
  ...["implementation_version", "extra"],
]);
const versioned = new Set(["python_version", "python_full_version", "implementation_version"]);
const token = /\s*(?:(===|~=|==|!=|<=|>=|<|>)|(\()|(\))|"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_.]*))/y;
const deepest = 50;

/** Undefined: not a condition. */
export function parseMarker(text: string): Marker | undefined {
  const tokens = tokensOf(text);
  if (!tokens) return undefined;
  const parser = new Parser(tokens);
  const marker = parser.or(0);
  return marker && parser.isAtEnd ? marker : undefined;
}

/** Whether the condition holds. `extras` are those that were asked for; with none, `extra` is the empty text. */
export function markerHolds(marker: Marker, environment: MarkerEnvironment, extras: readonly string[]): boolean {
  const wanted = extras.length === 0 ? [""] : extras;
  return wanted.some((extra) => holds(marker, { ...environment, extra }));
}

function holds(marker: Marker, environment: MarkerEnvironment): boolean {
  if (marker.kind === "and") return marker.parts.every((part) => holds(part, environment));
  if (marker.kind === "or") return marker.parts.some((part) => holds(part, environment));
  const { left, operator, right } = marker;
  const isExtra = [left, right].some((side) => "variable" in side && side.variable === "extra");
  const value = (side: Operand) => {
    const found = "variable" in side ? (environment[side.variable] ?? "") : side.text;
    return isExtra ? found.replace(/[-_.]+/g, "-").toLowerCase() : found;
  };
  const [a, b] = [value(left), value(right)];
  if (operator === "in") return b.includes(a);
  if (operator === "not in") return !b.includes(a);
  const isVersion = [left, right].some((side) => "variable" in side && versioned.has(side.variable));
  if (isVersion && explainVersion(a)) {
    const range = parseRange(`${operator}${b}`);
    if (range) return rangeContains(range, a);
  }
  return compareTexts(a, operator, b);
}

function compareTexts(a: string, operator: string, b: string): boolean {
  switch (operator) {
    case "==":
    case "===":
      return a === b;
    case "!=":
      return a !== b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      return false;
  }
}

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  const pattern = new RegExp(token.source, "y");
  while (pattern.lastIndex < end) {
    const match = pattern.exec(text);
    if (!match || tokens.length > 1000) return undefined;
    const [, operator, open, close, double, single, word] = match;
    if (operator !== undefined) tokens.push({ kind: "operator", value: operator });
    else if (open !== undefined) tokens.push({ kind: "open", value: open });
    else if (close !== undefined) tokens.push({ kind: "close", value: close });
    else if (word !== undefined) tokens.push({ kind: "word", value: word });
    else tokens.push({ kind: "text", value: double ?? single ?? "" });
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  or(depth: number): Marker | undefined {
    return this.#joined("or", () => this.#joined("and", () => this.#single(depth)));
  }

  #joined(kind: "and" | "or", next: () => Marker | undefined): Marker | undefined {
    const parts: Marker[] = [];
    do {
      const part = next();
      if (!part) return undefined;
      parts.push(part);
    } while (this.#takeWord(kind));
    return parts.length === 1 ? parts[0] : { kind, parts };
  }

  #single(depth: number): Marker | undefined {
    if (this.#tokens[this.#at]?.kind === "open") {
      if (depth >= deepest) return undefined;
      this.#at++;
      const inner = this.or(depth + 1);
      return inner && this.#tokens[this.#at++]?.kind === "close" ? inner : undefined;
    }
    const left = this.#operand();
    const operator = left && this.#operator();
    const right = operator && this.#operand();
    if (!left || !operator || !right) return undefined;
    return "text" in left && "text" in right ? undefined : { kind: "compare", left, operator, right };
  }

  #operand(): Operand | undefined {
    const next = this.#tokens[this.#at];
    if (next?.kind === "text") {
      this.#at++;
      return { text: next.value };
    }
    if (next?.kind !== "word") return undefined;
    // setuptools wrote these before PEP 508
    const variable =
      next.value === "python_implementation" ? "platform_python_implementation" : next.value.replace(".", "_");
    if (!variables.has(variable)) return undefined;
    this.#at++;
    return { variable };
  }

  #operator(): string | undefined {
    const next = this.#tokens[this.#at];
    if (next?.kind === "operator") {
      this.#at++;
      return next.value;
    }
    if (this.#takeWord("in")) return "in";
    return this.#takeWord("not") && this.#takeWord("in") ? "not in" : undefined;
  }

  #takeWord(word: string): boolean {
    const next = this.#tokens[this.#at];
    if (next?.kind !== "word" || next.value !== word) return false;
    this.#at++;
    return true;
  }
}
