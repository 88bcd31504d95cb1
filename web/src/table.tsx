import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, plural } from "./figures";
import { spelled, Written } from "./written";

type Value = string | number | null;

export interface Column<Row> {
  name: string;
  of: (row: Row) => Value; // what it is sorted and filtered by, and without `cell` shown as
  cell?: (row: Row) => ComponentChildren;
  filter?: keyof typeof FILTERS;
}

interface Shown<Row> {
  label: string;
  rows: readonly Row[];
  columns: Column<Row>[]; // the first one names the row
  search?: string; // what a row is called, if rows can be searched and filtered
  latest?: string; // the column by which it is sorted at first, the greatest first
  chosen?: (row: Row) => boolean;
}

const FILTERS = {
  choose: { label: "", type: "text", passes: (value: Value, wanted: string) => value === wanted },
  least: { label: ", at least", type: "number", passes: (value: Value, wanted: string) => value !== null && Number(value) >= Number(wanted) },
  most: { label: ", at most", type: "number", passes: (value: Value, wanted: string) => value !== null && Number(value) <= Number(wanted) },
  since: { label: " since", type: "date", passes: (value: Value, wanted: string) => String(value) >= wanted },
} as const;

const order = new Intl.Collator("en", { numeric: true }).compare;

/** What is not known comes last. */
function compared(one: Value, other: Value, by: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return by * (typeof one === "number" && typeof other === "number" ? one - other : order(String(one), String(other)));
}

/** A table that a click on a heading sorts, and that can be searched and filtered. */
export function Table<Row>({ label, rows, columns, search, latest, chosen }: Shown<Row>) {
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState<Record<string, string>>({});
  const [sort, setSort] = useState({ name: latest, by: -1 });
  const sought = text.trim().toLowerCase();
  const shown = rows.filter((row) =>
    columns.every(({ name, of, filter }) => !filter || !wanted[name] || FILTERS[filter].passes(of(row), wanted[name])) &&
    (!sought || JSON.stringify(row).toLowerCase().includes(sought)));
  const sorted = columns.find((column) => column.name === sort.name);
  if (sorted) shown.sort((one, other) => compared(sorted.of(one), sorted.of(other), sort.by));
  return (
    <>
      {search && (
        <form class="fields" role="search" onSubmit={(event) => event.preventDefault()}>
          <input type="search" aria-label={`Search the ${search}s`} placeholder={`Search the ${search}s`} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          {columns.flatMap(({ name, of, filter }) => {
            if (!filter) return [];
            const set = (value: string) => setWanted({ ...wanted, [name]: value });
            const values = filter === "choose" ? [...new Set(rows.map((row) => String(of(row))))].sort(order) : [];
            if (filter === "choose") return <Choice key={name} name={name} value={wanted[name] ?? ""} options={[["", "any"], ...values.map((value) => [value, value] as const)]} choose={set} />;
            const { label, type } = FILTERS[filter];
            return <label key={name} class="field">{name}{label} <input type={type} min={0} step="any" value={wanted[name] ?? ""} onInput={(event) => set(event.currentTarget.value)} /></label>;
          })}
          <p class="found" role="status">{shown.length < rows.length ? `${count(shown.length)} of ` : ""}{plural(rows.length, search)}</p>
        </form>
      )}
      <div class="wide" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map(({ name }) => (
                <th key={name} scope="col" aria-sort={name === sort.name ? (sort.by > 0 ? "ascending" : "descending") : undefined}>
                  <button type="button" class="quiet" onClick={() => setSort({ name, by: name === sort.name ? -sort.by : 1 })}>{name}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, number) => (
              <tr key={number} class={chosen?.(row) ? "chosen" : ""}>
                {columns.map(({ name, of, cell }, at) => {
                  const value = of(row);
                  const content = cell ? cell(row) : typeof value === "string" ? <Written text={value} /> : count(value);
                  return at ? <td key={name}>{content}</td> : <th key={name} scope="row">{content}</th>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface Field {
  name: string;
  value: string | number;
  options: (readonly [value: string | number, label: string])[];
  choose: (value: string) => void;
}

/** A field to choose one of several texts, which may be anybody's. */
export function Choice({ name, value, options, choose }: Field) {
  return (
    <label class="field">
      {name}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([each, label]) => <option key={each} value={each}>{spelled(label)}</option>)}
      </select>
    </label>
  );
}
