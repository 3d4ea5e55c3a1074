import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import { type JsonLimits, parseJson } from "../lib/json/parse-json.ts";
import {
  type CellFileList,
  type CompletionList,
  cellFileList,
  completionList,
  type Inspection,
  inspection,
  type RestoreFailure,
  restoreFailures,
  type Variable,
  variableList,
} from "./messages.ts";

/**
 * Limits of the lists that a cell sends: 10,000 entries with up to five fields. They are checked before anything is parsed. The
 * attack: 8 MiB of empty arrays take the parser and the validation seconds and gigabytes, and the host stands still meanwhile.
 */
export const listLimits: JsonLimits = { depth: 8, keys: 60_000, values: 60_000, containers: 10_010 };

/** body of the `vars` reply */
export function decodeVariables(data: Buffer): Variable[] {
  return decoded(data, variableList, "variable_unserializable", "the cell's list of variables cannot be read");
}

/** body of the `complete` reply */
export function decodeCompletions(data: Buffer): CompletionList {
  return decoded(data, completionList, "expression_failed", "the cell's completions cannot be read");
}

/** body of the `inspect` reply; null: there is no such name */
export function decodeInspection(data: Buffer): Inspection | null {
  return decoded(data, inspection, "expression_failed", "the cell's description cannot be read");
}

/** body of the `restore` reply; an empty one says that everything was restored */
export function decodeRestoreFailures(data: Buffer): RestoreFailure[] {
  if (data.byteLength === 0) return [];
  return decoded(data, restoreFailures, "snapshot_damaged", "the cell's report on the snapshot cannot be read");
}

/** body of the `file.list` reply */
export function decodeFileList(data: Buffer): CellFileList {
  return decoded(data, cellFileList, "file_refused", "the cell's list of files cannot be read");
}

function decoded<Value>(
  data: Buffer,
  schema: { parse(value: unknown): Value },
  code: CodecellErrorCode,
  message: string,
): Value {
  try {
    return schema.parse(parseJson(data.toString(), listLimits));
  } catch (cause) {
    throw new CodecellError(code, message, { cause });
  }
}
