import { formatCount, plural } from "../../../parts/text/format.ts";
import { shownName } from "../../../parts/text/shown-name.ts";
import { type Table, tableLimits } from "./csv.ts";

/** A CSV or TSV file. Its first row is taken as the names of the columns. */
export function TableView({ table }: { table: Table }) {
  const [head = [], ...rows] = table.rows;
  const width = Math.min(table.columns, tableLimits.columns);
  const columns = Array.from({ length: width }, (_, index) => index);
  return (
    <>
      <p class="quiet">{saidOf(table, rows.length)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section class="scroll-x table-view" aria-label="Table" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th class="number" scope="col">
                <span class="visually-hidden">Row</span>
              </th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {shownName(head[column] ?? "", 200) || `Column ${column + 1}`}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                <td class="number quiet">{index + 1}</td>
                {columns.map((column) => (
                  <td key={column}>{shownName(row[column] ?? "", 500)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

function saidOf({ columns, hasMoreRows, hasMoreColumns }: Table, rows: number): string {
  const first = hasMoreRows ? "the first " : "";
  const beyond = hasMoreColumns ? `, the first ${tableLimits.columns} of ${formatCount(columns)} columns` : "";
  return `${first}${plural(rows, "row")}${beyond || `, ${plural(columns, "column")}`}${
    hasMoreRows || hasMoreColumns ? ". Download the file to see all of it." : ""
  }`;
}
