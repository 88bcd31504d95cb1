import "./style.css";
import { render } from "preact";
import { AblationPage } from "./ablation";
import { unpacked, type Report } from "./data";
import { RunsPage } from "./runs_page";
import { useFollowed } from "./following";

const page = document.getElementById("page")!;

function Page({ first, follow }: { first: Report; follow: string | undefined }) {
  const report = useFollowed(first, follow);
  return report.kind === "ablation" ? <AblationPage ablation={report.ablation} program={report.program} /> : <RunsPage report={report} />;
}

async function open() {
  const element = document.getElementById("zorkgpt-data");
  if (!element) throw new Error("there is no run in it");
  const report = await unpacked(element);
  const { follow } = element.dataset;
  element.remove();
  page.replaceChildren();
  render(<Page first={report} follow={follow} />, page);
}

open().catch((error: unknown) => {
  page.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
});
