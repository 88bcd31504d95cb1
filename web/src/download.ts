/** Let the browser save a text as a file. */
export function download(name: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: name.endsWith(".csv") ? "text/csv" : "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function asCsv(rows: object[]): string {
  const cell = (value: unknown) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [Object.keys(rows[0] ?? {}), ...rows.map(Object.values)].map((row) => `${row.map(cell).join(",")}\n`).join("");
}
