// The Compare tab: runs of one prompt side by side, recorded or decoded here.
import { html, nothing, render } from "lit-html";
import { make } from "../lib/dom";
import { area } from "../lib/fields";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot, Store } from "../lib/run";
import { fastestOf, MOST, refusalOf, storesOf } from "../versus/compare";
import { mount } from "../views";
import { elsewhere } from "./answer";
import { decoded } from "./decode";
import { download } from "./files";
import LEDES from "./ledes.json";
import { requestOf } from "./state";
import type { Context, Section } from "./tabs";

/** Buttons that add or remove a stack: label, and name in `about.sides`. */
const PRESETS = [
  ["Plain", "plain"],
  ["HD", "published"],
  ["Databases", "databases"],
  ["HSD", "hierarchy"],
  ["Databases + HSD", "both"],
];
const OPENING = ["plain", "databases", "both"];
/** Untimed tokens decoded first with each stack, to exclude one-time costs. */
const WARM_UP = 8;

export function compareView({ host, store, state, group }: Context): Section {
  const { about } = host;
  const root = make("section", "hsd-part");
  const form = make("div", "hsd-form hsd-measure hsd-compare");
  const trouble = make("div", "", "", { hidden: "" });
  const titles = Object.fromEntries(about.stacks);
  const nothingYet = { group: "", runs: [], pinned: -1, time: -1 };
  const versus = mount("versus", { ...state, ...nothingYet, titles, sources: about.sources });
  const runs = () => versus.model.get("runs") as unknown as Snapshot[];
  let headline: ReturnType<typeof fastestOf> | null = null;
  const titleOf = ({ meta }: Store) => titles[meta.asked ?? ""] || titles[meta.stack] || meta.stack;
  const show = (all: Snapshot[]) => {
    const stores = storesOf(all);
    headline = refusalOf(stores) ? null : fastestOf(stores, titleOf);
    // Before the first choice there is nothing to refuse.
    root.append(versus.el);
    versus.model.set("runs", all as never);
    paint();
  };
  const fail = (error: unknown, title = "Comparison failed") =>
    drawNotice(trouble, troubleOf(error, title));

  // --- recordings
  let race =
    about.races.find((r) => r.title.includes(String(about.form.temperature))) ?? about.races[0];
  const opening = () => {
    const own = race.runs.filter((r) => OPENING.includes(r.name.split("/")[1]));
    return (own.length > 1 ? own : race.runs.slice(0, 2)).map((r) => r.name);
  };
  let chosen: string[] = [];
  async function choose(names: string[]) {
    chosen = race.runs.map((r) => r.name).filter((name) => names.includes(name));
    paint();
    drawNotice(trouble, { message: "" });
    const asked = chosen;
    const found = await Promise.all(asked.map((name) => host.recording(name)));
    // The view says when there are too few or too many. A newer choice has its own.
    if (chosen === asked) show(found);
  }
  const chip = (words: string, on: boolean, act: () => void, title = "") =>
    html`<button type="button" aria-pressed=${on} title=${title || nothing} @click=${act}>
      ${words}
    </button>`;
  const chips = (label: string, all: unknown[]) =>
    html`<div class="hsd-presets" role="group" aria-label=${label}>${all}</div>`;
  const toggled = (all: string[], one: string) =>
    all.includes(one) ? all.filter((other) => other !== one) : [...all, one];
  function recordings() {
    const races = about.races.map((r) => {
      const act = () => {
        race = r;
        choose(opening()).catch(fail);
      };
      return chip(r.title, r === race, act);
    });
    const stacks = race.runs.map(({ name, title, stack, blurb }) => {
      const act = () => void choose(toggled(chosen, name)).catch(fail);
      return chip(title, chosen.includes(name), act, `${stack}: ${blurb}`);
    });
    return html`${
      races.length > 1 ? chips("Sampling", races) : nothing
    }${chips("Stacks (two or three)", stacks)}`;
  }

  // --- decode
  let text = OPENING.map((name) => about.sides[name]).join("\n");
  let busy: AbortController | null = null;
  let said = "";
  const lines = () =>
    text
      .split("\n")
      .flatMap((line) => (line.trim() ? [about.sides[line.trim()] ?? line.trim()] : []));
  async function start() {
    if (!host.decode || busy) return;
    const stacks = lines();
    const control = new AbortController();
    busy = control;
    drawNotice(trouble, { message: "" });
    paint();
    try {
      if (stacks.length < 2 || stacks.length > MOST)
        throw new Error(`write two or three stacks, one per line, not ${stacks.length}`);
      const request = requestOf(store.state.form, about.limits);
      const found: Snapshot[] = [];
      for (const stack of stacks) {
        const stage = (words: string, done?: number | null, total?: number | null) => {
          said = `${stack}: ${total ? `decoding ${done}/${total}` : words}`;
          paint();
        };
        await decoded(host, { ...request, stack, max_new_tokens: WARM_UP }, stage, control.signal);
        found.push((await decoded(host, { ...request, stack }, stage, control.signal)).snapshot());
      }
      chosen = [];
      show(found);
      said = "Decoded here, once each: speeds are noisy.";
    } catch (error) {
      said = control.signal.aborted ? "Cancelled. The previous comparison is unchanged." : "";
      if (!control.signal.aborted) fail(error);
    } finally {
      busy = null;
      paint();
    }
  }
  const write = (all: string) => {
    text = all;
    paint();
  };
  const decoding = () =>
    html`<details class="hsd-values" ?open=${!race}>
      <summary>Compare stacks on your own prompt</summary>
      <p class="hsd-note">
        Uses the form's prompt, sampling and number of tokens; each stack first decodes a few
        untimed tokens. HD: Hierarchy Drafting. HSD: Hierarchical Speculative Decoding.
      </p>
      ${chips(
        "Stacks",
        PRESETS.map(([label, name]) => {
          const stack = about.sides[name];
          // A fourth stack takes the place of the third.
          const next = () => toggled(lines(), stack);
          const act = () =>
            write((next().length > 3 ? [...lines().slice(0, 2), stack] : next()).join("\n"));
          return chip(label, lines().includes(stack), act, `${titles[stack] ?? ""}: ${stack}`);
        }),
      )}
      ${area("Stacks, one per line", 3, text, write)}
      <div class="hsd-buttons">
        <button
          type="button"
          class="hsd-primary"
          title="Ctrl+Enter"
          ?disabled=${busy !== null}
          @click=${start}
        >
          Decode and compare
        </button>
        <button type="button" ?disabled=${busy === null} @click=${() => busy?.abort()}>
          Cancel
        </button>
      </div>
      <p class="hsd-stage hsd-note hsd-number" role="status">${said}</p>
    </details>`;
  function paint() {
    const { prompt, meta } = group.store;
    const family = (one: Snapshot["meta"]) => one.family ?? "";
    const others = [
      ...(runs().some((one) => family(one.meta) !== family(meta)) ? ["other models"] : []),
      ...(runs().some((one) => one.prompt !== prompt) ? ["another prompt"] : []),
    ];
    render(
      html`<p class="hsd-headline" ?hidden=${!headline}>
          <strong>${headline?.figure}</strong> ${headline?.words}
        </p>
        <p class="hsd-warning hsd-separate" ?hidden=${!others.length}>
          <strong>Not the run of the other tabs:</strong> ${others.join(" and ")}.
        </p>
        <p class="hsd-lede">${LEDES.compare}</p>
        ${race ? recordings() : nothing}
        ${
          host.file
            ? html`<button type="button" class="hsd-quiet"
  @click=${save}>Save the comparison</button>`
            : nothing
        }
        ${
          host.decode
            ? decoding()
            : elsewhere("decode", "Decoding your own prompt with several stacks")
        }`,
      form,
    );
  }
  const save = () => {
    download(host, { about: "comparison", options: { runs: runs() } }).catch((error) =>
      fail(error, "Save failed"),
    );
  };
  paint();
  if (race) choose(opening()).catch(fail);
  root.append(form, trouble);
  return { root, refresh: paint };
}
