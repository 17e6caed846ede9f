// Why the run on the page is not faster: the share of each cause in one bar; the verdict and what to do on demand.
import { entry, followTheme, hued, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Cause {
  name: string;
  share: number;
  light: string;
  dark: string;
}
interface Table {
  title: string;
  note?: string;
  head: string[];
  rows: string[][];
}
/** Empty: nothing to explain. */
interface Spec {
  title?: string;
  causes?: Cause[];
  lines?: string[];
  tables?: Table[];
  settings?: [string, string][];
}
interface Traits {
  spec: Spec;
}

export const percent = (share: number) => `${Math.round(100 * share)} %`;

function tableOf({ title, note, head, rows }: Table) {
  const box = make("div", "hsd-doc-table");
  const table = make("table");
  const caption = make("caption", "", title);
  if (note) caption.append(make("small", "", note));
  const line = (cells: string[], top: boolean) => {
    const row = make("tr");
    row.append(
      ...cells.map((text, k) => {
        const cell = make(top || !k ? "th" : "td", "", text) as HTMLTableCellElement;
        if (cell.tagName === "TH") cell.scope = top ? "col" : "row";
        return cell;
      }),
    );
    return row;
  };
  const thead = make("thead");
  const tbody = make("tbody");
  thead.append(line(head, true));
  tbody.append(...rows.map((cells) => line(cells, false)));
  table.append(caption, thead, tbody);
  box.append(table);
  return box;
}

function body({ lines = [], tables = [], settings = [] }: Spec) {
  const box = make("div", "hsd-doc-body");
  box.append(...lines.map((text) => make("p", "", text)));
  const side = make("div", "hsd-doc-tables");
  side.append(...tables.map(tableOf));
  box.append(side);
  if (settings.length) {
    const list = make("dl", "hsd-doc-settings");
    for (const [engine, text] of settings) {
      const value = make("dd");
      value.append(make("code", "", text));
      list.append(make("dt", "", engine), value);
    }
    box.append(make("h3", "", "Settings to paste"), list);
  }
  return box;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("details", "hsd-doctor");
  function draw() {
    const spec = model.get("spec");
    const causes = spec.causes ?? [];
    root.hidden = !causes.length;
    const summary = make("summary");
    const bar = make("span", "hsd-doc-bar");
    bar.setAttribute("aria-hidden", "true");
    const legend = make("ul", "hsd-doc-legend");
    for (const cause of causes) {
      const part = hued(make("span", "hsd-doc-part"), cause);
      part.style.flexGrow = String(cause.share);
      bar.append(part);
      legend.append(entry(hued(make("span", "hsd-doc-key"), cause), `${cause.name} ${percent(cause.share)}`));
    }
    summary.append(make("span", "hsd-doc-title", spec.title ?? ""), bar, legend);
    root.replaceChildren(summary, body(spec));
  }
  const unfollow = followTheme(root);
  model.on("change:spec", draw);
  el.append(root);
  draw();
  return () => {
    model.off("change:spec", draw);
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
