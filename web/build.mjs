// Bundles the page of reports into one file: script, style and the licences of what it uses. The same sources give the
// same bytes. `zorkgpt report` puts the policy and the data where the two comments of the page are.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = new URL("../zorkgpt/report/page/page.html", import.meta.url);

const { outputFiles, metafile } = await build({
  entryPoints: ["src/main.tsx"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  outdir: "out",
  write: false,
});

const part = (ending) => outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Name, version and licence of each package whose code is in the page. */
function licences() {
  const names = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter(Boolean))].sort().map((name) => {
    const folder = new URL(`node_modules/${name}/`, import.meta.url);
    const { version, license } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
    const text = readFileSync(new URL(readdirSync(folder).find((file) => /^licen[cs]e/i.test(file)), folder), "utf8");
    return `<h3>${escaped(`${name} ${version}, ${license}`)}</h3>\n<pre>${escaped(text.trim())}</pre>`;
  });
}

const parts = { script: part(".js"), style: part(".css"), licences: licences().join("\n") };
if (/<\/script|<!--/i.test(parts.script) || /<\/style/i.test(parts.style)) throw new Error("a part would end its own element");
const template = readFileSync(new URL("src/page.html", import.meta.url), "utf8");
const page = template.replace(/\{\{([a-z]+)\}\}/g, (_, name) => parts[name]);
writeFileSync(target, page);
console.log(`${target.pathname.split("/").slice(-4).join("/")}: ${Math.round(page.length / 1000)} kB`);
