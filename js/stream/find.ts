// Text search in the stream, across token borders.

import { make } from "../lib/dom";
import type { Group } from "../lib/group";
import type { Store } from "../lib/run";
import type { Pane } from "./pane";
import { createHaystack, findIn, tokensIn } from "./text";

/** The page's highlight of this name, shared by all streams. */
function highlight(name: string) {
  const all = globalThis.CSS?.highlights;
  if (!all || typeof Highlight === "undefined") return null;
  if (!all.has(name)) all.set(name, new Highlight());
  return all.get(name) as Highlight;
}

/**
 * The search field, status and buttons. `reveal(node)` scrolls to a node, `settled()` returns the focus to the text. `again()`
 * searches again, `more(from)` only from token `from` on.
 */
export function findBar({
  pane,
  group,
  store,
  out,
  reveal,
}: {
  pane: Pane;
  group: Group;
  store: Store;
  out: HTMLElement;
  reveal: (node: HTMLElement | null | undefined) => void;
}) {
  const root = make("div", "hsd-find");
  root.setAttribute("role", "search");
  const field = make("input", "hsd-find-field");
  Object.assign(field, { type: "text", placeholder: "Find in the text", spellcheck: false, autocomplete: "off" });
  field.setAttribute("aria-label", "Find in the text");
  field.setAttribute("aria-keyshortcuts", "/");
  field.title =
    "/ focuses this field, Enter and Shift Enter move between matches, Esc returns to the text. A capital letter makes the search case-sensitive; ↵ and ⇥ find line breaks and tabs.";
  const said = make("output", "hsd-find-said");
  said.setAttribute("aria-live", "polite");
  const step = (label: string, words: string, by: number) => {
    const button = make("button", "hsd-find-step", label);
    button.type = "button";
    button.title = words;
    button.setAttribute("aria-label", words);
    button.addEventListener("click", () => go(by));
    return button;
  };
  const back = step("‹", "Previous match (Shift Enter)", -1);
  const next = step("›", "Next match (Enter)", 1);
  root.append(field, said, back, next);

  let hay = createHaystack();
  let prompts = 0; // prompt pieces at the start of the haystack
  let found: [number, number][] = [];
  let now = -1;
  const marks = { all: highlight("hsd-found"), now: highlight("hsd-found-now") };
  /** This view's ranges. */
  const mine: { all: StaticRange[]; now: StaticRange[] } = { all: [], now: [] };
  let loud = [] as HTMLElement[]; // tokens marked in browsers without CSS highlights

  const placesOf = ([from, to]: [number, number]) =>
    tokensIn(hay, from, to).map((p) =>
      p.token < prompts ? { ...p, prompt: p.token, token: undefined } : { ...p, token: p.token - prompts },
    );
  function put(which: "all" | "now", places: ReturnType<typeof placesOf>, keep = false) {
    const set = marks[which];
    if (!set) {
      if (which === "all") return;
      loud.forEach((node) => node.classList.remove("hsd-found"));
      loud = places.flatMap((p) => (p.token === undefined ? [] : pane.nodes(p.token)));
      loud.forEach((node) => node.classList.add("hsd-found"));
      return;
    }
    if (!keep) {
      mine[which].forEach((r) => set.delete(r));
      mine[which] = [];
    }
    for (const range of places.flatMap(pane.ranges)) {
      set.add(range);
      mine[which].push(range);
    }
  }
  function tell() {
    said.textContent = !field.value
      ? ""
      : !found.length
        ? "none"
        : now < 0
          ? String(found.length)
          : `${now + 1} of ${found.length}`;
    root.classList.toggle("hsd-find-none", Boolean(field.value) && !found.length);
    back.disabled = next.disabled = !found.length;
  }
  /** Scroll to a match; `go`: also move the cursor, if it is in the emitted text. */
  function at(k: number, go = true) {
    now = k;
    const places = k < 0 ? [] : placesOf(found[k]);
    put("now", places);
    const first = places[0];
    if (go && first?.token !== undefined) group.go({ token: first.token });
    if (first) reveal(first.token === undefined ? pane.place(first.prompt) : pane.spans[first.token]);
    tell();
  }
  const go = (by: number) => {
    if (found.length) at((now + by + found.length) % found.length);
  };
  function look() {
    found = findIn(hay, field.value);
    put("all", found.flatMap(placesOf));
    put("now", []);
    now = -1;
  }
  function search() {
    look();
    // The first match from the cursor on, else the first.
    const cursor = hay.parts.find((p) => p.last - prompts >= Math.max(0, group.cursor.token))?.at ?? 0;
    const k = found.findIndex(([from]) => from >= cursor);
    // Typing only searches; the cursor moves on Enter.
    at(found.length ? Math.max(0, k) : -1, false);
  }
  const bar = {
    root,
    field,
    again() {
      hay = createHaystack();
      const texts = pane.promptTexts();
      prompts = texts.length;
      for (const t of texts) hay.add(t, null);
      for (const t of store.tokens) hay.add(t.text, t.raw);
      const before = found[now];
      look();
      const k = before ? found.findIndex(([from]) => from === before[0]) : -1;
      if (k >= 0) {
        now = k;
        put("now", placesOf(found[k]));
      }
      tell();
    },
    more(from: number) {
      const last = found[found.length - 1];
      // Partial characters may have been completed.
      const sure = hay.parts.length ? hay.parts[hay.parts.length - 1].at : 0;
      for (const t of store.tokens.slice(from)) hay.add(t.text, t.raw);
      if (!field.value) return;
      const fresh = findIn(hay, field.value, Math.max(last ? last[1] : 0, sure - field.value.length));
      found.push(...fresh);
      put("all", fresh.flatMap(placesOf), true);
      tell();
    },
    end() {
      for (const which of ["all", "now"] as const) mine[which].forEach((r) => marks[which]?.delete(r));
    },
  };
  function leave() {
    if (now >= 0) at(now);
    field.value = "";
    look();
    tell();
    out.focus({ preventScroll: true });
  }
  field.addEventListener("input", search);
  root.addEventListener("keydown", (e) => {
    if (e.isComposing) return;
    if (e.key === "Enter" && e.target === field) go(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") leave();
    else {
      if (e.target === field) e.stopPropagation();
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  });
  tell();
  return bar;
}
