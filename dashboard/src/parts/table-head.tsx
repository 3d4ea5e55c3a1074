/** The name of a column. Numbers are aligned to the right. */
export type Column = string | { readonly number: string };

export function TableHead({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [name, kind] = typeof column === "string" ? [column, undefined] : [column.number, "number"];
          return (
            <th scope="col" class={kind} key={name}>
              {name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Columns of numbers. */
export function numbers(...names: readonly string[]): Column[] {
  return names.map((number) => ({ number }));
}
