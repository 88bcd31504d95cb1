import { spelled } from "./written";

interface Shown {
  name: string;
  value: string | number;
  options: (readonly [value: string | number, label: string])[];
  choose: (value: string) => void;
}

/** A field to choose one of several texts, which may be anybody's. */
export function Choice({ name, value, options, choose }: Shown) {
  return (
    <label class="field">
      {name}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([each, label]) => <option key={each} value={each}>{spelled(label)}</option>)}
      </select>
    </label>
  );
}
