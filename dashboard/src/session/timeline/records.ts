const mostRows = 100;
const mostColumns = 20;

/** Pure: a list of flat objects as a table; undefined: it is something else. */
export function recordsOf(
  value: unknown,
):
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[]; readonly total: number }
  | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const records = value.slice(0, mostRows);
  const isFlat = (record: unknown): record is Record<string, unknown> =>
    typeof record === "object" &&
    record !== null &&
    !Array.isArray(record) &&
    Object.values(record).every((field) => typeof field !== "object" || field === null);
  if (!records.every(isFlat)) return undefined;
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))].slice(0, mostColumns);
  if (columns.length === 0) return undefined;
  const rows = records.map((record) =>
    columns.map((column) => (Object.hasOwn(record, column) ? String(record[column]) : "")),
  );
  return { columns, rows, total: value.length };
}
