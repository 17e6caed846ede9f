// The Compare tab: runs of one prompt side by side, recorded or decoded here.
import { html, render } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { make } from "../lib/dom";
import { drawNotice } from "../lib/notice";
import type { Snapshot } from "../lib/run";
import { countRefusal, MOST } from "../versus/compare";
import { mount } from "../views";
import { elsewhere } from "./answer";
import { decoded } from "./decode";
import { download } from "./files";
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

export function compareView({ host, store, state }: Context): Section {
  const { about } = host;
  const root = make("section", "hsd-part");
  root.append(
    make(
      "p",
      "hsd-lede",
      "Runs of one prompt and seed, aligned by output position, with their recorded times: a faster stack needs fewer target forward passes for the same position.",
    ),
  );
  const form = make("div", "hsd-form hsd-measure");
  const trouble = make("div");
  trouble.hidden = true;
  const titles = Object.fromEntries(about.stacks);
  const versus = mount("versus", {
    ...state,
    ...{
      runs: [],
      titles,
      sources: about.sources,
      refusal: countRefusal(0),
      choices: about.races,
      group: "",
      chosen: [],
    },
    ...{ pinned: -1, time: -1 },
  });
  const set = (name: string, value: unknown) => versus.model.set(name, value as never);
  const fail = (error: unknown) =>
    drawNotice(trouble, {
      title: "Comparison failed",
      message: error instanceof Error ? error.message : String(error),
    });
  const show = (runs: Snapshot[]) => {
    set("refusal", "");
    set("runs", runs);
  };

  // --- recordings
  async function open() {
    const race = about.races.find((r) => r.group === (versus.model.get("group") as unknown));
    const chosen = versus.model.get("chosen") as unknown as string[];
    const names = (race?.runs ?? []).map((r) => r.name).filter((name) => chosen.includes(name));
    if (!chosen.length) return;
    if (names.length < 2 || names.length > MOST) return set("refusal", countRefusal(names.length));
    show(await Promise.all(names.map((name) => host.recording(name))));
  }
  function opening() {
    const race = about.races.find((r) => r.group === (versus.model.get("group") as unknown));
    const own = (race?.runs ?? []).filter((r) => OPENING.includes(r.name.split("/")[1]));
    set(
      "chosen",
      (own.length > 1 ? own : (race?.runs ?? []).slice(0, 2)).map((r) => r.name),
    );
  }
  versus.model.on("change:group", opening);
  versus.model.on("change:chosen", () => open().catch(fail));
  if (about.races.length)
    set("group", (about.races.find((r) => r.title.includes(String(about.form.temperature))) ?? about.races[0]).group);
  else set("refusal", "No recordings are installed.");

  // --- decode
  let text = OPENING.map((name) => about.sides[name]).join("\n");
  let busy: AbortController | null = null;
  let said = "";
  const lines = () =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean)
      .map((line) => about.sides[line] ?? line);
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
      const runs: Snapshot[] = [];
      for (const stack of stacks) {
        for (const max_new_tokens of [Math.min(WARM_UP, request.max_new_tokens), request.max_new_tokens]) {
          const warming = max_new_tokens !== request.max_new_tokens;
          const stage = (words: string, done?: number | null, total?: number | null) => {
            said = `${stack}: ${warming ? "warming up" : total ? `decoding ${done}/${total}` : words}`;
            paint();
          };
          const run = await decoded(host, { ...request, stack, max_new_tokens }, stage, control.signal);
          if (max_new_tokens === request.max_new_tokens) {
            runs.push(run.snapshot());
            break;
          }
        }
      }
      set("chosen", []);
      show(runs);
      said = "Decoded now on this machine.";
    } catch (error) {
      said = control.signal.aborted ? "Cancelled. The previous comparison is unchanged." : "";
      if (!control.signal.aborted) fail(error);
    } finally {
      busy = null;
      paint();
    }
  }
  function paint() {
    if (!host.decode) {
      render(elsewhere("decode", "Decoding your own prompt with several stacks"), form);
      return;
    }
    const on = lines();
    const toggle = (stack: string) => {
      text = (on.includes(stack) ? on.filter((one) => one !== stack) : [...on, stack]).join("\n");
      paint();
    };
    render(
      html`<h3>Compare on this page</h3>
        <p class="hsd-blurb">Uses the form's prompt, sampling and number of tokens; each stack first decodes a few untimed tokens. HD: Hierarchy Drafting. HSD: Hierarchical Speculative Decoding.</p>
        <div class="hsd-presets" role="group" aria-label="Stacks">${PRESETS.map(([label, name]) => {
          const stack = about.sides[name];
          return html`<button type="button" aria-pressed=${on.includes(stack)} title=${`${titles[stack] ?? ""}: ${stack}`}
            @click=${() => toggle(stack)}>${label}</button>`;
        })}</div>
        <label class="hsd-field">Stacks, one per line<textarea class="hsd-mono" rows="3" spellcheck="false" .value=${live(text)}
          @input=${(e: { target: HTMLTextAreaElement }) => {
            text = e.target.value;
            paint();
          }}></textarea></label>
        <div class="hsd-buttons">
          <button type="button" class="hsd-button-main" title="Decode the form's prompt with each stack in turn (Ctrl+Enter)" ?disabled=${busy !== null} @click=${start}>Decode and compare</button>
          <button type="button" ?disabled=${busy === null} @click=${() => busy?.abort()}>Cancel</button>
        </div>
        <p class="hsd-stage" role="status">${said}</p>`,
      form,
    );
  }
  paint();
  const save = make("button", "hsd-quiet", "Save as a page");
  save.type = "button";
  save.hidden = !host.file;
  save.addEventListener("click", () => {
    const runs = versus.model.get("runs") as unknown as Snapshot[];
    download(host, { about: "comparison", options: { runs } }).catch(fail);
  });
  root.append(form, trouble, save, versus.el);
  return { root };
}
