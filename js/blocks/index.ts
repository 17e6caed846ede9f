// The block editor of a stack: the target at the top, its drafters below. `text` is the stack; an edit rewrites it.
import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { repeat } from "lit-html/directives/repeat.js";
import { when } from "lit-html/directives/when.js";
import type { PaletteData } from "../lib/palette";
import { paletteOf } from "../lib/palette";
import { MAX_LOOKAHEAD, parseStack, refusalOf, type Sources, writeStack } from "../lib/stack";
import { templated } from "../lib/template";
import { button, check, menu } from "./fields";
import type { Bottom, ModelPart, Part } from "./parts";
import {
  bottomOf,
  choices,
  draftsOf,
  itemsOf,
  modelsOf,
  once,
  shifted,
  spare,
  stepped,
  targetOf,
  withBottom,
  withChoice,
  withItems,
  withLookahead,
  withModel,
  withMoved,
  withName,
  withoutModel,
} from "./parts";

export interface Traits {
  text: string;
  /** Why the text is not a stack, or not one of this page; "" if it is. */
  error: string;
  bottoms: Sources;
  /** Names of models on the buttons; `free`: others are allowed, too. */
  offered: string[];
  free: boolean;
  palette: PaletteData;
}
/** A block on the page; `drafts` says which model it drafts for. */
interface Block {
  key: string;
  family: string;
  label: string;
  name: unknown;
  role: string;
  tools?: unknown;
  body?: unknown;
}
const EVENTS = "change:text change:offered change:bottoms";
type Field = { target: HTMLInputElement };

export default templated<Traits>(
  { class: "hsd-linked hsd-blocks", events: "", behind: "--backdrop" },
  ({ model, root, paint, on }) => {
    const palette = paletteOf(model.get("palette"));
    palette.paint(root);
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", "Stack as blocks");
    const names = () => model.get("offered");
    /** The drawn parts: of the text, or of the last one that is a stack. */
    let parts: Part[] = [{ kind: "model", name: "target", lookahead: null }];
    /** Read the text; its error. */
    function read() {
      let error = "";
      try {
        const found = parseStack(model.get("text"), model.get("bottoms"));
        error = refusalOf(found, model.get("free") ? null : names());
        if (!error) parts = found;
      } catch (problem) {
        error = (problem as Error).message;
      }
      if (model.get("error") === error) return;
      model.set("error", error);
      model.save_changes();
    }
    read();
    let said = "";
    let typed = "";

    /** Move the focus to the control `key`, or to its block where it is gone or disabled. */
    function focus(key: string) {
      const all = [...root.querySelectorAll<HTMLButtonElement>("[data-key]")];
      const found = all.find((n) => n.dataset.key === key && !n.disabled);
      (found ?? all.find((n) => key.startsWith(`${n.dataset.key}:`)) ?? all[0])?.focus({ preventScroll: true });
    }
    function edit(next: Part[], words: string, key: string) {
      said = words;
      model.set("text", writeStack(next));
      model.save_changes();
      read();
      paint();
      focus(key);
    }
    on(EVENTS, () => {
      read();
      paint();
    });

    // --- blocks
    const blockOf = ({ key, family, label, name, role, tools, body }: Block) =>
      html`<li
        class="hsd-blk" data-key=${key} data-family=${family} tabindex="-1" aria-label=${label}
      >
        <div class="hsd-blk-head">
          <span class="hsd-blk-swatch"></span>${name}<span class="hsd-blk-role">${role}</span>
          ${tools && html`<span class="hsd-blk-tools">${tools}</span>`}
        </div>
        ${body}
      </li>`;

    function modelBlock(part: ModelPart, k: number): Block {
      const { name, lookahead } = part;
      const models = modelsOf(parts);
      const target = k === models.length - 1;
      const key = `m:${name}`;
      const others = [name, ...spare(parts, names())].sort((a, b) => names().indexOf(a) - names().indexOf(b));
      const rename = (to: string) => edit(withName(parts, k, to), `${name} is now ${to}`, `m:${to}:name`);
      const title =
        others.length > 1
          ? menu(`${key}:name`, target ? "Target model" : "Draft model", others, name, rename)
          : html`<span class="hsd-blk-name">${name}</span>`;
      if (target) return { key, family: "target", label: `${name}, the target`, name: title, role: "target model" };

      const drafts = draftsOf(parts);
      const move = (by: number) => {
        const other = drafts[k + by]?.name;
        if (other) edit(withMoved(parts, k, k + by), `${name} ${by > 0 ? "verifies" : "drafts for"} ${other}`, key);
      };
      const drop = () =>
        edit(withoutModel(parts, k), `${name} removed`, `m:${(drafts[k - 1] ?? targetOf(parts)).name}`);
      const set = (value: number | null, focus: string) =>
        edit(withLookahead(parts, k, value, MAX_LOOKAHEAD), `lookahead of ${name}: ${value ?? "automatic"}`, focus);
      const step = (by: number, sign: string, words: string, end: number) => {
        const own = `${key}:${by < 0 ? "less" : "more"}`;
        const act = () => set(stepped(lookahead, by), own);
        return button(own, sign, `${words} lookahead of ${name}`, act, { disabled: lookahead === end });
      };
      const change = ({ target: { value } }: Field) =>
        set(value.trim() === "" || !Number.isFinite(Number(value)) ? null : Number(value), `${key}:lookahead`);
      const last = drafts.length - 1;
      return {
        key,
        family: palette.family(name),
        label: `${name}${lookahead ? `, lookahead ${lookahead}` : ""}, drafts for ${models[k + 1].name}`,
        name: title,
        role: "draft model",
        tools: [
          when(last, () => [
            button(`${key}:up`, "↑", `Move ${name} up`, () => move(1), { disabled: k === last }),
            button(`${key}:down`, "↓", `Move ${name} down`, () => move(-1), { disabled: k === 0 }),
          ]),
          button(`${key}:out`, "✕", `Remove ${name}`, once(drop)),
        ],
        body: html`<div class="hsd-blk-line">
          <span class="hsd-blk-stepper">
            ${step(-1, "−", "Decrease", 1)}
            <input
              class="hsd-blk-number" type="number" min="1" max=${MAX_LOOKAHEAD} data-key="${key}:lookahead"
              .value=${live(String(lookahead ?? ""))} placeholder="–" @change=${change}
              aria-label="Lookahead of ${name}: minimum proposed tokens"
            >
            ${step(1, "+", "Increase", MAX_LOOKAHEAD)}
          </span>
          <span class="hsd-blk-words">${
            lookahead === null || lookahead === "auto"
              ? "lookahead: automatic (calibrated, else 4)"
              : `${lookahead === 1 ? "token" : "tokens"} of lookahead`
          }</span>
        </div>`,
      };
    }

    function bottomBlock(part: Bottom): Block {
      const { name } = part;
      const above = modelsOf(parts)[0].name;
      const drop = () => edit(withBottom(parts, null), `${name} removed`, `m:${above}`);
      const take = (to: string) => edit(withBottom(parts, to), `${to} is the draft source`, "b:name");
      return {
        key: "b",
        family: name === "db" || name === "auto" ? "" : "baseline",
        label: `${name}, drafts for ${above}`,
        name: menu("b:name", "Draft source", Object.keys(model.get("bottoms")), name, take),
        role: model.get("bottoms")[name].words,
        tools: button("b:out", "✕", `Remove ${name}`, once(drop)),
        body: name === "auto" ? choiceList(part) : itemList(part),
      };
    }
    function choiceList(part: Bottom) {
      const all = choices(parts, names());
      const now = part.items.length ? part.items : all;
      return html`<div class="hsd-blk-choices">${all.map((name) => {
        const is = now.includes(name);
        const act = () =>
          edit(withChoice(parts, name, names()), `auto: ${name} ${is ? "excluded" : "included"}`, `c:${name}`);
        // Empty brackets are invalid.
        const disabled = now.length === 1 && is;
        return check(`c:${name}`, name, is, act, { disabled, family: name === "db" ? "" : palette.family(name) });
      })}</div>`;
    }
    function itemList(part: Bottom) {
      const spoken = model.get("bottoms")[part.name];
      const { databases, on } = itemsOf(part, spoken);
      const put = (next: string[], words: string, key: string) => edit(withItems(parts, next, on, spoken), words, key);
      const row = (name: string, i: number) => {
        const last = databases.length - 1;
        const go = (to: number, key = `d:${name}:${to < i ? "up" : "down"}`) =>
          put(shifted(databases, i, to), `${name} is at position ${to + 1}`, key);
        const left = databases.filter((d) => d !== name);
        const drop = () => put(left, `${name} removed`, `d:${databases[i ? i - 1 : 1]}:out`);
        return html`<li class="hsd-blk-item" data-family=${palette.family(name)}>
          <span class="hsd-blk-place">${i + 1}</span><span class="hsd-blk-swatch"></span>
          <span class="hsd-blk-item-name">${name}</span>
          <span class="hsd-blk-tools">${when(last, () => [
            button(`d:${name}:up`, "↑", `Move ${name} up`, () => go(i - 1), { disabled: i === 0 }),
            button(`d:${name}:down`, "↓", `Move ${name} down`, () => go(i + 1), { disabled: i === last }),
            button(`d:${name}:out`, "✕", `Remove ${name}`, once(drop)),
          ])}</span>
        </li>`;
      };
      const unused = spoken.databases.filter((d) => !databases.includes(d));
      const chip = (name: string) => {
        const act = () => put([...databases, name], `${name} added`, `d:${name}:out`);
        return button(`d:${name}:in`, `+ ${name}`, `Add ${name}`, act, { chip: true, family: palette.family(name) });
      };
      const list = () =>
        html`<ol class="hsd-blk-items" aria-label="Databases in order of use">
          ${repeat(databases, (name) => name, row)}
        </ol>`;
      const chips = () => html`<div class="hsd-blk-chips">${unused.map(chip)}</div>`;
      return html`${when(spoken.databases.length, list)}${when(unused.length, chips)}${Object.entries(
        spoken.options,
      ).map(([name, words]) => {
        const is = on.includes(name);
        // Explicit databases stay explicit; the default ones are implied.
        const next = is ? on.filter((o) => o !== name) : [...on, name];
        const act = () =>
          edit(withItems(parts, databases, next, spoken), `${name} is ${is ? "off" : "on"}`, `o:${name}`);
        return check(`o:${name}`, words, is, act);
      })}`;
    }

    // --- what can be added, and what Python says
    function additions() {
      const bottom = bottomOf(parts);
      const offer = (name: string) =>
        button(`a:${name}`, `+ ${name}`, `Add ${name} as a draft model`, () => add(name), {
          chip: true,
          family: palette.family(name),
        });
      const source = (name: string, words: string) =>
        button(
          `a:${name}`,
          `+ ${words}`,
          `Add ${words} as draft source`,
          () => edit(withBottom(parts, name), `${words} added`, "b"),
          { chip: true },
        );
      const models =
        bottom?.name === "auto" ? [] : [...spare(parts, names()).map(offer), model.get("free") && anyModel()];
      return [...models, ...(bottom ? [] : [source("db", "databases"), source("auto", "auto")])].filter(Boolean);
    }
    const add = (name: string) => edit(withModel(parts, name, names()), `${name} added`, `m:${name}`);
    function anyModel() {
      const submit = (e: Event) => {
        e.preventDefault();
        const name = typed.trim();
        if (!name) return;
        typed = "";
        add(name);
      };
      const input = ({ target }: Field) => {
        typed = target.value;
      };
      return html`<form class="hsd-blk-any" @submit=${submit}>
        <input
          placeholder="hub id or path" .value=${live(typed)} data-key="a:any" aria-label="Model: hub id or path"
          @input=${input}
        >
        <button type="submit" class="hsd-blk-chip" data-key="a:any:go" title="Add as a draft model"
          aria-label="Add as a draft model">+ model</button>
      </form>`;
    }
    return () => {
      const words = model.get("error");
      root.classList.toggle("hsd-blk-behind", Boolean(words));
      const bottom = bottomOf(parts);
      const all = [...modelsOf(parts).map(modelBlock).reverse(), ...(bottom ? [bottomBlock(bottom)] : [])];
      const more = additions();
      return html`<ol class="hsd-blk-list">${repeat(all, ({ key }) => key, blockOf)}</ol>
        <div class="hsd-blk-add" role="group" aria-label="Add to the stack" ?hidden=${!more.length}>${more}</div>
        <p class="hsd-blk-error" role="status" ?hidden=${!words}>${
          words && `${words[0].toUpperCase()}${words.slice(1)}.`.replace(/\.\.$/, ".")
        }</p>
        <p class="hsd-blk-kept" ?hidden=${!words}>${words ? `Last valid stack: ${writeStack(parts)}` : ""}</p>
        <p class="hsd-blk-live" aria-live="polite">${said}</p>`;
    };
  },
);
