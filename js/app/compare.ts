// The Compare tab: runs of one prompt side by side, recorded or decoded here.
import { html, nothing, render } from "lit-html";
import type { Race } from "../host";
import { make } from "../lib/dom";
import { stackName } from "../lib/drafter_names";
import { area, menu } from "../lib/fields";
import { drawNotice, troubleOf } from "../lib/notice";
import { paletteOf } from "../lib/palette";
import type { Snapshot } from "../lib/run_data";
import { brief, cut } from "../lib/words";
import { bestOf, fastestOf, letterOf, MAX_RUNS, refusalOf, storesOf } from "../versus/compare";
import { contrastText } from "../versus/contrast";
import { familyOf } from "../versus/race_controls";
import { runnerOf } from "../versus/race_time";
import { type Mounted, mount } from "../views";
import { elsewhere } from "./answer";
import { decoded } from "./decode";
import { download } from "./files";
import { type Headline, headlineOf } from "./headline";
import { type Chip, chipsOf, suiteChips } from "./origin";
import type { Context, Section } from "./section";
import { requestOf } from "./state";

/** Stacks of `about.sides` that buttons add or remove. */
const PRESETS = ["plain", "published", "databases", "hierarchy", "both"];
const OPENING = ["plain", "databases", "both"];
/** Untimed tokens decoded first with each stack, to exclude one-time costs. */
const WARM_UP = 8;
/** Maximum length of the prompt beside the headline, in characters. */
const SHORT = 30;

const toggled = (all: string[], name: string) =>
  all.includes(name) ? all.filter((other) => other !== name) : [...all, name];
const chips = (label: string, all: unknown[]) =>
  html`<div class="hsd-presets" role="group" aria-label=${label}>${all}</div>`;
const chip = (words: unknown, on: boolean, act: () => void, title = "") =>
  html`<button type="button" aria-pressed=${on} title=${title || nothing} @click=${act}>
    ${words}
  </button>`;

class Comparison {
  readonly root = make("section", "hsd-part");
  private readonly form = make("div", "hsd-form hsd-measure hsd-compare");
  private readonly trouble = make("div", "", "", { hidden: "" });
  private readonly versus: Mounted;
  /** The compared runs, and their headline; null: they cannot be compared. */
  private runs: Snapshot[] = [];
  private headline: Headline | null = null;
  private origin: Chip[] = [];
  /** The group of recordings, and the names of those selected; none after a decode. */
  private race: Race | undefined;
  private chosen: string[] = [];
  private readonly isSmall = matchMedia("(max-width: 700px)").matches;
  /** Stacks to decode, one per line; the controller of their decode, and its progress. */
  private text: string;
  private busy: AbortController | null = null;
  private said = "";

  constructor(private readonly context: Context) {
    const { about } = context.host;
    const nothingYet = { group: "", runs: [], pinned: -1, time: -1 };
    const state = {
      ...context.state,
      ...nothingYet,
      sources: about.sources,
      suites: about.suites,
    };
    this.versus = mount("versus", state);
    const formTemperature = String(about.form.temperature);
    this.race = about.races.find(({ title }) => title.includes(formTemperature)) ?? about.races[0];
    this.text = OPENING.map((name) => about.sides[name]).join("\n");
    this.paint();
    this.openRace();
    this.root.append(this.form, this.trouble);
  }

  close() {
    this.busy?.abort();
    this.versus.close();
  }
  private fail(error: unknown, title = "Comparison failed") {
    drawNotice(this.trouble, troubleOf(error, title));
  }
  /** The letter of a chosen stack, in the colour that it has in the race. */
  private letterOf(index: number, stack: string) {
    const { hues } = this.palette;
    const family = familyOf(stack, paletteOf(this.palette));
    const colour = hues[family]
      ? `--c: light-dark(${hues[family].light}, ${hues[family].dark})`
      : "";
    return html`<b class="hsd-vs-letter" data-family=${family} .style=${colour}
        >${letterOf(index)}</b
      > `;
  }
  private get palette() {
    return this.context.host.about.palette;
  }
  private show(runs: Snapshot[]) {
    const stores = storesOf(runs);
    const kind = this.chosen.length ? "recording" : "finished";
    this.runs = runs;
    this.headline = refusalOf(stores) ? null : fastestOf(stores);
    // The origin of the first run represents that of all.
    const [first] = stores;
    const prompt = `“${cut(brief(first?.prompt ?? ""), SHORT)}”`;
    const { suites = [], families } = this.context.host.about;
    this.origin = first ? chipsOf(first, prompt, kind, { families }) : [];
    if (this.headline) {
      const contrast = contrastText(stores.map((store) => runnerOf(store, suites)));
      this.origin.push(...suiteChips(bestOf(stores), suites));
      if (contrast) this.origin.push({ words: contrast, warns: true });
    }
    // Without a selection yet, a notice about it would be premature.
    this.root.append(this.versus.el);
    this.versus.model.set("runs", runs as never);
    this.paint();
  }

  // --- recordings

  /** Compare the most instructive runs of the group, or its first two. */
  private openRace() {
    const { race } = this;
    if (!race) return;
    const openingRuns = race.runs.filter(({ name }) => OPENING.includes(name.split("/")[1]));
    const opening = openingRuns.length > 1 ? openingRuns : race.runs.slice(0, 2);
    this.choose(opening.map(({ name }) => name));
  }
  private choose(names: string[]) {
    this.load(names).catch((error) => this.fail(error));
  }
  private async load(names: string[]) {
    const raceNames = this.race?.runs.map(({ name }) => name) ?? [];
    const requested = raceNames.filter((name) => names.includes(name));
    this.chosen = requested;
    this.paint();
    drawNotice(this.trouble, { message: "" });
    const { host } = this.context;
    const runs = await Promise.all(requested.map((name) => host.recording(name)));
    // The view reports too few or too many runs. Drop the runs of an outdated selection.
    if (this.chosen === requested) this.show(runs);
  }
  private recordings() {
    const { races } = this.context.host.about;
    const { race, chosen } = this;
    if (!race) return nothing;
    const take = (group: string) => {
      this.race = races.find((other) => other.group === group) ?? race;
      this.openRace();
    };
    const groups = races.map(({ group, title }) => [group, title]);
    const stacks = race.runs.map(({ name, stack, blurb }) => {
      const index = chosen.indexOf(name);
      const letter = index < 0 ? nothing : this.letterOf(index, stack);
      const act = () => this.choose(toggled(chosen, name));
      return chip(html`${letter}${stackName(stack)}`, index >= 0, act, `${stack}: ${blurb}`);
    });
    const label = "Prompt and sampling";
    const group =
      races.length > 1
        ? menu(groups, race.group, take, { class: "hsd-compare-group", label })
        : nothing;
    const choice = html`${group}${chips("Stacks (two or three)", stacks)}`;
    // On a phone the race is first.
    if (!this.isSmall) return choice;
    return html`<details class="hsd-values">
      <summary>Prompt and stacks</summary>
      <div class="hsd-compare-choice">${choice}</div>
    </details>`;
  }

  // --- decode

  private stacks(): string[] {
    const { sides } = this.context.host.about;
    const lines = this.text.split("\n").map((line) => line.trim());
    return lines.filter(Boolean).map((line) => sides[line] ?? line);
  }
  private write = (text: string) => {
    this.text = text;
    this.paint();
  };
  private start = async () => {
    if (!this.context.host.decode || this.busy) return;
    const control = new AbortController();
    this.busy = control;
    drawNotice(this.trouble, { message: "" });
    this.paint();
    try {
      const runs = await this.decode(this.stacks(), control.signal);
      this.chosen = [];
      this.show(runs);
      this.said = "Decoded here, once each: speeds are noisy.";
    } catch (error) {
      const { aborted } = control.signal;
      this.said = aborted ? "Cancelled. The previous comparison is unchanged." : "";
      if (!aborted) this.fail(error);
    } finally {
      this.busy = null;
      this.paint();
    }
  };
  private async decode(stacks: string[], signal: AbortSignal): Promise<Snapshot[]> {
    const { host, store } = this.context;
    if (stacks.length < 2 || stacks.length > MAX_RUNS)
      throw new Error(`write two or three stacks, one per line, not ${stacks.length}`);
    const request = requestOf(store.state.form, host.about.limits);
    const runs: Snapshot[] = [];
    for (const stack of stacks) {
      const stage = (words: string, done?: number | null, total?: number | null) => {
        this.said = `${stack}: ${total ? `decoding ${done}/${total}` : words}`;
        this.paint();
      };
      await decoded(host, { ...request, stack, max_new_tokens: WARM_UP }, stage, signal);
      runs.push((await decoded(host, { ...request, stack }, stage, signal)).snapshot());
    }
    return runs;
  }
  private presets() {
    const { sides } = this.context.host.about;
    return PRESETS.map((name) => {
      const stack = sides[name];
      const lines = this.stacks();
      const act = () => {
        const next = toggled(lines, stack);
        // A fourth stack takes the place of the third.
        this.write((next.length > MAX_RUNS ? [...lines.slice(0, 2), stack] : next).join("\n"));
      };
      return chip(stackName(stack), lines.includes(stack), act, stack);
    });
  }
  private decoding() {
    const { busy } = this;
    return html`<details class="hsd-values" ?open=${!this.race}>
      <summary>Own prompt</summary>
      <p class="hsd-note">
        With the form's prompt, sampling and number of tokens; a few untimed tokens first.
      </p>
      ${chips("Stacks", this.presets())}${area("Stacks, one per line", 3, this.text, this.write)}
      <div class="hsd-buttons">
        <button
          type="button"
          class="hsd-primary"
          title="Ctrl+Enter"
          ?disabled=${busy !== null}
          @click=${this.start}
        >
          Decode and compare
        </button>
        <button type="button" ?disabled=${busy === null} @click=${() => busy?.abort()}>
          Cancel
        </button>
      </div>
      <p class="hsd-stage hsd-note hsd-number" role="status">${this.said}</p>
    </details>`;
  }

  // --- drawing

  private save = () => {
    const question = { about: "comparison", options: { runs: this.runs } };
    download(this.context.host, question).catch((error) => this.fail(error, "Save failed"));
  };
  /** List how the compared runs differ from the run of the other tabs. */
  private differencesFromRun(): string[] {
    const { prompt, meta } = this.context.group.store;
    const familyOf = (one: Snapshot["meta"]) => one.family ?? "";
    const differences: string[] = [];
    if (this.runs.some((run) => familyOf(run.meta) !== familyOf(meta)))
      differences.push("other models");
    if (this.runs.some((run) => run.prompt !== prompt)) differences.push("another prompt");
    return differences;
  }
  paint = () => {
    const { host } = this.context;
    const { headline } = this;
    const differences = this.differencesFromRun();
    const button = html`<button
      type="button"
      class="hsd-quiet"
      aria-label="Save the comparison"
      @click=${this.save}
    >
      Save
    </button>`;
    render(
      html`<p class="hsd-headline" ?hidden=${!headline}>${headlineOf(headline, this.origin)}</p>
        ${host.file && headline ? button : nothing}
        <p class="hsd-warning hsd-separate" ?hidden=${!differences.length}>
          <strong>Not the run of the other tabs:</strong> ${differences.join(" and ")}.
        </p>
        ${this.recordings()}${
          host.decode
            ? this.decoding()
            : elsewhere("decode", "Decoding your own prompt with several stacks")
        }`,
      this.form,
    );
  };
}

export function compareView(context: Context): Section {
  const comparison = new Comparison(context);
  return { root: comparison.root, refresh: comparison.paint, close: () => comparison.close() };
}
