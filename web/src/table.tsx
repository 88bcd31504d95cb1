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
  hidden?: boolean; // only filtered by
}

interface Shown<Row> {
  label: string;
  rows: readonly Row[];
  columns: Column<Row>[]; // the first one names the row
  search?: string; // what a row is called, if rows can be searched and filtered
  chosen?: (row: Row) => boolean;
}

const FILTERS = {
  choose: { label: "", type: "text", passes: (value: Value, wanted: string) => value === wanted },
  least: { label: ", at least", type: "number", passes: (value: Value, wanted: string) => value !== null && Number(value) >= Number(wanted) },
  most: { label: ", at most", type: "number", passes: (value: Value, wanted: string) => value !== null && Number(value) <= Number(wanted) },
  since: { label: " since", type: "date", passes: (value: Value, wanted: string) => String(value) >= wanted },
} as const;

const NARROW = 760; // pixels; on such a screen the filters are folded, so that the first row is in sight
const FEW = 6; // columns; with more, a row becomes a block on a narrow screen

const order = new Intl.Collator("en", { numeric: true }).compare;

/** What is not known comes last. */
function compared(one: Value, other: Value, by: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return by * (typeof one === "number" && typeof other === "number" ? one - other : order(String(one), String(other)));
}

/** A table that a click on a heading sorts, and that can be searched and filtered. */
export function Table<Row>({ label, rows, columns, search, chosen }: Shown<Row>) {
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState<Record<string, string>>({});
  const [sort, setSort] = useState({ name: "", by: 1 });
  const sought = text.trim().toLowerCase();
  const shown = rows.filter((row) =>
    columns.every(({ name, of, filter }) => !filter || !wanted[name] || FILTERS[filter].passes(of(row), wanted[name])) &&
    (!sought || JSON.stringify(row).toLowerCase().includes(sought)));
  const seen = columns.filter(({ hidden }) => !hidden);
  const sorted = columns.find((column) => column.name === sort.name);
  if (sorted) shown.sort((one, other) => compared(sorted.of(one), sorted.of(other), sort.by));
  return (
    <>
      {search && (
        <form class="fields" role="search" onSubmit={(event) => event.preventDefault()}>
          <input type="search" aria-label={`Search the ${search}s`} placeholder={`Search the ${search}s`} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <details class="filters" open={innerWidth > NARROW}>
            <summary>Filter</summary>
            <div class="fields">
              {columns.flatMap(({ name, of, filter }) => {
                if (!filter) return [];
                const set = (value: string) => setWanted({ ...wanted, [name]: value });
                const values = filter === "choose" ? [...new Set(rows.map((row) => String(of(row))))].sort(order) : [];
                if (filter === "choose") return <Choice key={name} name={name} value={wanted[name] ?? ""} options={[["", "any"], ...values.map((value) => [value, value] as const)]} choose={set} />;
                const { label, type } = FILTERS[filter];
                return <label key={name} class="field">{name}{label} <input type={type} min={0} step="any" value={wanted[name] ?? ""} onInput={(event) => set(event.currentTarget.value)} /></label>;
              })}
            </div>
          </details>
          <p class="found" role="status">{shown.length < rows.length ? `${count(shown.length)} of ` : ""}{plural(rows.length, search)}</p>
        </form>
      )}
      <div class={seen.length > FEW ? "wide many" : "wide"} tabIndex={0} role="region" aria-label={label}>
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              {seen.map(({ name }) => (
                <th key={name} role="columnheader" scope="col" aria-sort={name === sort.name ? (sort.by > 0 ? "ascending" : "descending") : undefined}>
                  <button type="button" class="quiet" onClick={() => setSort({ name, by: name === sort.name ? -sort.by : 1 })}>{name}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {shown.map((row, number) => (
              <tr key={number} role="row" class={chosen?.(row) ? "chosen" : ""}>
                {seen.map(({ name, of, cell }, at) => {
                  const value = of(row);
                  const content = cell ? cell(row) : typeof value === "string" ? <Written text={value} /> : count(value);
                  const text = typeof value === "string" ? "text" : "";
                  return at ? <td key={name} role="cell" class={text} data-name={name}>{content}</td> : <th key={name} role="rowheader" class={text} scope="row">{content}</th>;
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
