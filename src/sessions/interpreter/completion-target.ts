import type { CompletionTarget } from "../../kernel/client.ts";

/** What to ask the cell for, and where in the code its answer belongs. */
export interface CodeTarget extends CompletionTarget {
  /** offset of the prefix in the code */
  readonly start: number;
  /** what closes a completed text, such as `"]` */
  readonly suffix: string;
  /** keywords of Python that start with the prefix */
  readonly keywords: readonly string[];
}

const keywords = [
  "False None True and as assert async await break case class continue def del elif else except finally for from",
  "global if import in is lambda match nonlocal not or pass raise return try while with yield",
]
  .join(" ")
  .split(" ");

const name = "[\\p{ID_Start}_]\\p{ID_Continue}*";
const dotted = new RegExp(`^((?:${name}\\.)*)((?:${name})?)$`, "u");
const attributeAtEnd = new RegExp(`(?<!\\p{ID_Continue}|\\.)((?:${name}\\.)+)((?:${name})?)$`, "u");
const nameAtEnd = new RegExp(`(?<!\\p{ID_Continue}|\\.)((?:${name})?)$`, "u");
const literalAtEnd = new RegExp(`["']\\.((?:${name})?)$`, "u");
const subscriptAtEnd = new RegExp(`(?<!\\p{ID_Continue}|\\.)((?:${name}\\.)*${name})\\[$`, "u");
/** Names are at the end of the code: nothing before is looked at, so that no expression takes long on long code. */
const maxTail = 500;

/** Pure: what the code before the cursor asks to be completed; undefined: nothing that is known without running it. */
export function completionTarget(code: string, cursor: number): CodeTarget | undefined {
  const before = code.slice(0, cursor);
  const place = placeAtEnd(before);
  if (place === "comment") return undefined;
  if (place !== "code") return inString(before, place, code.slice(cursor));
  const statement = /[^\n;]*$/.exec(before.slice(-maxTail))?.[0] ?? "";
  return importTarget(statement, cursor) ?? expressionTarget(statement, cursor);
}

function target(kind: CodeTarget["kind"], path: readonly string[], prefix: string, cursor: number): CodeTarget {
  const known = kind === "names" && prefix !== "" ? keywords.filter((one) => one.startsWith(prefix)) : [];
  return { kind, path, prefix, start: cursor - prefix.length, suffix: "", keywords: known };
}

function importTarget(statement: string, cursor: number): CodeTarget | undefined {
  const from = /^\s*from\s+(\S*)(\s+import\s+\(?(.*))?$/u.exec(statement);
  const members = from?.[3];
  if (from && members !== undefined) {
    const prefix = members.slice(members.lastIndexOf(",") + 1).trimStart();
    const path = dotted.exec(`${from[1]}`);
    return path && dotted.test(prefix) ? target("members", `${from[1]}`.split("."), prefix, cursor) : undefined;
  }
  const list = from ? from[1] : /^\s*import\s+(.*)$/u.exec(statement)?.[1];
  if (list === undefined) return undefined;
  const path = dotted.exec(list.slice(list.lastIndexOf(",") + 1).trimStart());
  return path ? target("modules", parts(path[1]), path[2] ?? "", cursor) : undefined;
}

function expressionTarget(statement: string, cursor: number): CodeTarget | undefined {
  const attribute = attributeAtEnd.exec(statement);
  if (attribute) return target("attributes", parts(attribute[1]), attribute[2] ?? "", cursor);
  const literal = literalAtEnd.exec(statement);
  if (literal) return target("attributes", ["str"], literal[1] ?? "", cursor);
  const plain = nameAtEnd.exec(statement);
  return plain ? target("names", [], plain[1] ?? "", cursor) : undefined;
}

/** `numpy.random.` as its names. */
function parts(text = ""): string[] {
  return text.split(".").filter(Boolean);
}

interface OpenString {
  readonly quote: string;
  /** where its content starts */
  readonly at: number;
}

function inString(before: string, { quote, at }: OpenString, after: string): CodeTarget | undefined {
  const content = before.slice(at);
  if (quote.length === 3 || content.length > maxTail) return undefined;
  const owner = subscriptAtEnd.exec(before.slice(Math.max(0, at - 1 - maxTail), at - 1))?.[1];
  if (owner !== undefined) {
    const suffix = after.startsWith(quote) ? "" : `${quote}]`;
    return { ...target("keys", parts(owner), content, before.length), suffix };
  }
  const slash = content.lastIndexOf("/") + 1;
  return target("files", slash === 0 ? [] : [content.slice(0, slash)], content.slice(slash), before.length);
}

/** Whether the end of the code is in a string, in a comment, or neither. */
function placeAtEnd(code: string): "code" | "comment" | OpenString {
  let open: OpenString | undefined;
  for (let at = 0; at < code.length; at++) {
    const character = code.charAt(at);
    if (open) {
      if (character === "\\") at++;
      else if (code.startsWith(open.quote, at)) {
        at += open.quote.length - 1;
        open = undefined;
      } else if (character === "\n" && open.quote.length === 1) open = undefined;
    } else if (character === "#") {
      const end = code.indexOf("\n", at);
      if (end === -1) return "comment";
      at = end;
    } else if (character === '"' || character === "'") {
      const quote = code.startsWith(character.repeat(3), at) ? character.repeat(3) : character;
      at += quote.length - 1;
      open = { quote, at: at + 1 };
    }
  }
  return open ?? "code";
}
