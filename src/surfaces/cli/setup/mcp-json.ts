import { isDeepStrictEqual } from "node:util";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { differsOnlyAt, editJson, readJson } from "./edit-json.ts";
import { JsonSyntaxError } from "./json-spans.ts";

/** How a client starts an MCP server. */
export interface McpEntry {
  /** VS Code wants it; others take it from the command */
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
}

export interface McpFileForm {
  /** the file as messages name it */
  readonly shown: string;
  /** the member that holds the servers */
  readonly servers: "mcpServers" | "servers";
  /** whether the client reads comments, and commas before a closing bracket */
  readonly allowsComments: boolean;
}

const projectFile: McpFileForm = { shown: ".mcp.json", servers: "mcpServers", allowsComments: false };

/** What a server at an address has, and one that is started does not. */
const remoteFields = ["url", "headers", "serverUrl", "httpUrl"] as const;

/**
 * Pure: adds this entry to the text of a client's file, or removes it. Everything else stays, byte for byte; so do fields of
 * the entry that the user added, such as `env`. Returns the same text if there is nothing to change.
 */
export function editMcpJson(
  text: string | undefined,
  name: string,
  entry: McpEntry | undefined,
  form: McpFileForm = projectFile,
): string | undefined {
  try {
    const next = edited(text, name, entry, form);
    if (!differsOnlyAt(text ?? "", next ?? "", [form.servers, name])) {
      throw new CodecellError(
        "usage",
        `${form.shown} was not changed: it is written in a form that cannot be changed safely`,
        {
          hint: "change the server by hand; --print in an empty directory shows what it needs",
        },
      );
    }
    return next;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError || error instanceof TypeError || error instanceof SyntaxError)) throw error;
    throw damaged(form, error);
  }
}

function edited(
  text: string | undefined,
  name: string,
  entry: McpEntry | undefined,
  { servers, allowsComments }: McpFileForm,
): string | undefined {
  if (text === undefined) return entry && editJson("", [servers, name], entry);
  const isEmpty = text.trim() === "";
  if (!allowsComments && !isEmpty) JSON.parse(text); // what the client itself cannot read is not ours to repair
  const path = [servers, name];
  // Also checks the text: nothing is returned as unchanged that cannot be read.
  let next = editJson(text, [...path, "codecell-is-not-here"], undefined);
  if (entry === undefined) return isEmpty ? text : editJson(text, path, undefined);
  if (typeof readJson(text, path) !== "object") return editJson(text, path, entry);
  for (const [field, value] of Object.entries(entry)) {
    if (!isDeepStrictEqual(readJson(next, [...path, field]), value)) next = editJson(next, [...path, field], value);
  }
  for (const field of remoteFields) next = editJson(next, [...path, field], undefined);
  return next;
}

function damaged({ shown }: McpFileForm, error: Error): CodecellError {
  const line = error instanceof JsonSyntaxError ? ` (line ${error.line})` : "";
  const why = error instanceof TypeError ? messageOf(error) : `it is not JSON${line}: ${messageOf(error)}`;
  return new CodecellError("usage", `${shown} was not changed: ${why}`, { cause: error, hint: "fix the file first" });
}
