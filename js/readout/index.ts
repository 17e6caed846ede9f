// The run on the page: origin, metrics as tiles, and progress.

import type { Origin, Progress, Tile } from "../lib/contract";
import { make } from "../lib/dom";
import { guarded } from "../lib/notice";
import { term } from "../lib/tip";
import type { Drawing } from "../lib/widget";

/** Empty before the first run. */
interface Traits {
  origin: Partial<Origin>;
  tiles: Tile[];
  verdict: string;
  stage: Partial<Progress>;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  let names: string[] = [];
  const root = make("section", "hsd-readout");
  root.setAttribute("aria-label", "Run");
  const origin = make("div", "hsd-origin");
  const status = make("div", "hsd-status");
  status.setAttribute("role", "status");
  const stage = make("span", "hsd-stage");
  const meter = make("div", "hsd-meter");
  const fill = make("div", "hsd-meter-fill");
  meter.append(fill);
  meter.setAttribute("role", "progressbar");
  meter.setAttribute("aria-label", "Progress");
  status.append(stage, meter);
  const tiles = make("div", "hsd-tiles");
  const verdict = make("p", "hsd-verdict");
  root.append(origin, status, tiles, verdict);
  el.append(root);

  function drawOrigin() {
    const o = model.get("origin");
    const badge = make("span", `hsd-badge hsd-badge-${o.kind || "none"}`, o.badge || "");
    const line = make("div", "hsd-origin-line");
    line.append(badge);
    if (o.stack) {
      const heading = make("h2");
      heading.append(make("code", "hsd-origin-stack", o.stack));
      line.append(heading);
    }
    const facts = make("p", "hsd-origin-facts", (o.facts || []).join("  ·  "));
    origin.replaceChildren(line, facts);
    if (o.note) origin.append(make("p", "hsd-origin-note", o.note));
  }
  function drawTiles() {
    const now = model.get("tiles");
    // During a run values change, but an open definition stays.
    if (now.length !== names.length || now.some((t, i) => t.label !== names[i])) {
      names = now.map((t) => t.label);
      tiles.replaceChildren(
        ...now.map((t, i) => {
          const tile = make("div", "hsd-tile");
          const label = make("div", "hsd-tile-label");
          label.append(term(t.label, t.about, `${uid}-${i}`));
          tile.append(label, make("div", "hsd-tile-value"), make("div", "hsd-tile-note"));
          return tile;
        }),
      );
    }
    now.forEach((t, i) => {
      const [, value, note] = tiles.children[i].children;
      value.replaceChildren(t.value, ...(t.unit ? [make("span", "hsd-tile-unit", ` ${t.unit}`)] : []));
      note.textContent = t.note;
    });
  }
  function drawVerdict() {
    verdict.textContent = model.get("verdict");
    verdict.hidden = !verdict.textContent;
  }
  function drawStage() {
    const { text = "", done = null, total = null } = model.get("stage");
    const busy = Boolean(text);
    root.classList.toggle("hsd-busy", busy);
    stage.textContent = text;
    const known = total !== null && total > 0 && done !== null;
    meter.classList.toggle("hsd-meter-unknown", busy && !known);
    fill.style.width = known ? `${Math.min(100, (100 * done) / total)}%` : "";
    if (known) {
      meter.setAttribute("aria-valuemax", String(total));
      meter.setAttribute("aria-valuenow", String(done));
    } else {
      meter.removeAttribute("aria-valuenow");
    }
  }
  const wires: [string, () => void][] = [
    ["change:origin", drawOrigin],
    ["change:tiles", drawTiles],
    ["change:verdict", drawVerdict],
    ["change:stage", drawStage],
  ];
  for (const [event, f] of wires) {
    model.on(event, f);
    f();
  }
  return () => {
    for (const [event, f] of wires) model.off(event, f);
    root.remove();
  };
}

export default { render: guarded(render) };
