// The texts of compared runs side by side, with one cursor over output positions.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import { duration, figure, glyphs, KIND_WORDS, plural } from "../lib/words";
import { TokenPane } from "../stream/pane";
import { type Runner, shownAt, spentAt } from "./race";

const HINT = "← → move by output position, ↑ ↓ select the run; Enter pins, Esc unpins, Space races";

/** `moved(at)` is called with the pinned position; -1: none. */
export function textsOf(runs: Runner[], palette: Palette, moved: (pinned: number) => void) {
  const root = make("section", "hsd-vs-texts hsd-stream", "", { "aria-label": "Texts" });
  const last = Math.max(...runs.map((r) => r.store.tokens.length)) - 1;
  const state = { at: -1, row: runs.length - 1, pinned: false };
  const panes = runs.map(({ store, letter }, k) => {
    const text = make("div", "hsd-text");
    const label = `Output of ${letter}. ${HINT}.`;
    const out = make("div", "hsd-out", "", { tabindex: 0, role: "listbox", "aria-label": label });
    text.append(out);
    const pane = new TokenPane(make("span"), out, store, palette);
    pane.clear();
    const point = (e: PointerEvent | MouseEvent) => {
      const at = pane.tokenAt(e);
      if (at < 0) return;
      if (e.type === "click") move(at, k, !(state.pinned && state.at === at && state.row === k));
      else if (!state.pinned && (e as PointerEvent).pointerType === "mouse") move(at, k);
    };
    out.addEventListener("pointerover", point);
    out.addEventListener("click", point);
    return { text, out, pane };
  });
  let marked: HTMLElement[] = [];
  function move(at: number, row = state.row, pinned = state.pinned) {
    Object.assign(state, { at: Math.min(at, last), row, pinned: pinned && at >= 0 });
    paint();
    moved(state.pinned ? state.at : -1);
  }
  function cardOf({ store, stairs }: Runner) {
    const at = state.at < 0 ? last : state.at;
    const token = store.tokens[at];
    const own = spentAt(stairs, at);
    if (!token || !own)
      return html`<p class="hsd-vs-card">ended after ${plural(store.tokens.length, "token")}</p>`;
    const how =
      token.kind === "accepted"
        ? `accepted, from ${palette.phrase(token.source)}`
        : KIND_WORDS[token.kind];
    return html`<p class="hsd-vs-card">
      <code data-family=${palette.family(token.source)}>${glyphs(token.text)}</code>: ${how}.
      Reached after <strong>${plural(own.passes, "target pass")}, ${duration(own.ns)}</strong>.
      <span class="hsd-note">p ${figure(token.p)}</span>
    </p>`;
  }
  function paint() {
    for (const node of marked) {
      node.classList.remove("hsd-on", "hsd-pinned", "hsd-mate");
      node.setAttribute("aria-selected", "false");
    }
    marked = [];
    runs.forEach(({ stairs }, k) => {
      const { pane, out } = panes[k];
      const tread = stairs.treads.find((t) => t.low <= state.at && state.at < t.high);
      for (let i = tread?.low ?? 0; tread && i < tread.high; i++) {
        pane.spans[i].classList.add(
          i === state.at ? (state.pinned ? "hsd-pinned" : "hsd-on") : "hsd-mate",
        );
        marked.push(pane.spans[i]);
      }
      const here = pane.spans[state.at];
      here?.setAttribute("aria-selected", "true");
      out.setAttribute("aria-activedescendant", here?.id ?? "");
    });
    render(
      html`<h3>Texts</h3>
        <p class="hsd-note">
          Output position ${(state.at < 0 ? last : state.at) + 1} of
          ${last + 1}${state.pinned ? ", pinned" : ""}. ${HINT}.
        </p>
        <div class="hsd-vs-columns" .style=${`--runs: ${runs.length}`}>
          ${runs.map(
            (run, k) =>
              html`<div class=${k === state.row ? "hsd-vs-column hsd-vs-active" : "hsd-vs-column"}>
                <h4><b class="hsd-vs-letter">${run.letter}</b> ${run.title}</h4>
                ${panes[k].text}${cardOf(run)}
              </div>`,
          )}
        </div>`,
      root,
    );
  }
  paint();
  return {
    root,
    move,
    /** Tokens after this time are not written yet. */
    clock: (ns: number) => runs.forEach(({ stairs }, k) => panes[k].pane.dim(shownAt(stairs, ns))),
    keys() {
      const at = Math.max(0, state.at);
      return {
        ArrowRight: () => move(Math.max(0, state.at + 1)),
        ArrowLeft: () => move(Math.max(0, state.at - 1)),
        ArrowDown: () => move(at, Math.min(runs.length - 1, state.row + 1)),
        ArrowUp: () => move(at, Math.max(0, state.row - 1)),
        Home: () => move(0),
        End: () => move(last),
        Enter: () => move(at, state.row, true),
        Escape: () => move(-1, state.row, false),
      };
    },
  };
}
