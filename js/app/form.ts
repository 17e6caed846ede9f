// The form of a new run: the fields of a decode request (host.ts).
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { Host } from "../host";
import { coded } from "../lib/coded";
import { stackName } from "../lib/drafter_names";
import { area, check, field, menu } from "../lib/fields";
import { parseStack, refusalOf } from "../lib/stack";
import { unique } from "../lib/widget";
import { sentence } from "../lib/words";
import { changedIn, type Form, NUMBERS, numberOf, rangesOf, type Store } from "./state";

const CHAT = "Chat: format the prompt by the target's chat template";
const DATABASES = "made by hsd-viz databases build";
const GREEDY =
  "Greedy decoding: small models then repeat themselves, and repetitions are easy to draft. " +
  "Speed-ups are those of a loop, not of typical text.";
type Field = { target: HTMLInputElement };

/** Return the form's template and its checks. `run` starts a decode, `cancel` ends it. */
export function formOf(store: Store, { about, panel }: Host, run: () => void, cancel: () => void) {
  const families = (about.families?.length ?? 0) > 1 ? (about.families ?? []) : [];
  const familyOf = ({ family }: Form) =>
    families.find((item) => item.name === (family || about.family));
  /** Return the models that stacks may name: those of the family if the page limits them. */
  const allowed = (form: Form) =>
    about.models === null ? null : (familyOf(form)?.models ?? about.models);
  /** Choose a family: take its example prompt and its chat setting, and a stack of its models. */
  function chooseFamily(name: string) {
    const chosen = families.find((item) => item.name === name);
    if (!chosen) return;
    const { form, filled } = store.state;
    const all = [
      ...about.prompts,
      ...families,
      ...families.flatMap(({ prompts }) => prompts),
      filled,
    ];
    const examples = all.map(({ prompt }) => prompt);
    const change: Partial<Form> = { family: name, chat: chosen.chat };
    if (examples.includes(form.prompt) || !form.prompt.trim()) change.prompt = chosen.prompt;
    const offered = about.stacks;
    const isOwn = ![...offered, ...families.map(({ stack }) => stack)].includes(form.stack);
    const first = isOwn ? form.stack : (chosen.stack ?? form.stack);
    const stacks = [first, ...offered, "target"];
    change.stack = stacks.find((text) => isOf(text, chosen.models)) ?? "target";
    set(change);
  }
  /** Return whether a text is a valid stack of these models. */
  function isOf(text: string, models: readonly string[]) {
    try {
      return refusalOf(parseStack(text, about.sources), models) === "";
    } catch {
      return false;
    }
  }
  const uid = unique();
  const ranges = rangesOf(about.limits.tokens);
  const set = (change: Partial<Form>) =>
    store.set({ form: { ...store.state.form, ...change }, trouble: null });
  /** Return why the text is not a stack of this page; "" if it is. */
  function error() {
    try {
      return refusalOf(
        parseStack(store.state.form.stack, about.sources),
        allowed(store.state.form),
      );
    } catch (problem) {
      return (problem as Error).message;
    }
  }

  const choice = (
    label: string,
    name: "rule" | "device" | "dtype",
    options: readonly (readonly string[])[],
  ) =>
    field(
      label,
      menu(options, store.state.form[name], (value) => set({ [name]: value })),
    );
  const optionsOf = (names: string[]) => [["", "automatic"], ...names.map((name) => [name, name])];
  const line = (label: string, name: "stack" | "target" | "databases", hint = "") =>
    field(
      label,
      html`<input
        class="hsd-mono hsd-${name}-field"
        spellcheck="false"
        maxlength="1000"
        placeholder=${hint}
        .value=${live(store.state.form[name])}
        @input=${({ target }: Field) => set({ [name]: target.value })}
      />`,
    );
  function number(name: (typeof NUMBERS)[number], form: Form) {
    const problem = numberOf(form[name], ranges[name]);
    const wrong = typeof problem === "string";
    const id = `${uid}-${name}`;
    return html`<div class="hsd-field">
      <label for="${id}-field">${ranges[name][0]}</label
      ><input
        id="${id}-field"
        inputmode="decimal"
        autocomplete="off"
        maxlength="100"
        .value=${live(form[name])}
        aria-invalid=${wrong ? "true" : nothing}
        aria-describedby=${wrong ? id : nothing}
        @input=${({ target }: Field) => set({ [name]: target.value })}
      /><span class="hsd-field-problem" id=${id}>${wrong ? problem : nothing}</span>
    </div>`;
  }

  function template() {
    const { form, filled, busy } = store.state;
    const prompts = familyOf(form)?.prompts ?? about.prompts;
    const preset = prompts.find((p) => p.prompt === form.prompt);
    const models = allowed(form);
    const presets = models ? about.stacks.filter((text) => isOf(text, models)) : about.stacks;
    const stack = presets.find((text) => text === form.stack);
    const changed = Object.keys(changedIn(form, filled)).length > 0;
    const wrong = error();
    const allowedNames = about.models?.join(", ") ?? "a ladder name, hub id or path";
    const target = `Target model (${allowedNames})`;
    const note = about.models ? "; others need --allow-models" : "";
    const folder = `Folder of databases (empty: shipped${note})`;
    const hasFiles = about.models === null || about.devices.length > 0;
    const family = familyOf(form);
    const missing = family && !family.installed;
    const installs = `hsd-viz models install ${family?.name}`;
    const install = `Not installed: run \`${installs}\`, then reload the page.`;
    return html`<h2>New run</h2>
      ${
        families.length
          ? field(
              "Models",
              menu(
                families.map((item) => [item.name, item.name]),
                family?.name ?? "",
                chooseFamily,
              ),
            )
          : nothing
      }
      ${
        family
          ? html`<p class="hsd-note">${sentence(family.title)}</p>
              ${panel?.(family.name) ?? nothing}`
          : nothing
      }
      ${missing ? html`<p class="hsd-note hsd-warning">${coded(install)}</p>` : nothing}
      ${field(
        "Prompt preset",
        menu(
          [...prompts.map((p) => [p.title, p.title]), ["", "custom"]],
          preset?.title ?? "",
          (title) => {
            const chosen = prompts.find((p) => p.title === title);
            if (chosen) set({ prompt: chosen.prompt });
          },
        ),
      )}
      ${preset ? html`<p class="hsd-note">${preset.blurb}</p>` : nothing}
      ${area("Prompt", 8, form.prompt, (prompt) => set({ prompt }))}
      ${field(
        "Stack preset",
        menu(
          [...presets.map((text) => [text, `${stackName(text)}: ${text}`]), ["", "custom"]],
          stack ?? "",
          (text) => text && set({ stack: text }),
        ),
      )}
      ${line("Stack", "stack")}
      <p class="hsd-field-problem" role="status">${coded(sentence(wrong)) || nothing}</p>
      <div class="hsd-buttons">
        <button
          type="button"
          class="hsd-primary"
          title="Decode the prompt with the stack (Ctrl+Enter)"
          ?disabled=${busy}
          @click=${run}
        >
          Run
        </button>
        <button
          type="button"
          class="hsd-cancel"
          title="Stop after the current token"
          ?disabled=${!busy}
          @click=${cancel}
        >
          Cancel
        </button>
      </div>
      ${check("hsd-check", "Measure speed-up over plain decoding", form.beside_plain, (on) =>
        set({ beside_plain: on }),
      )}
      <div class="hsd-fields">
        ${NUMBERS.map((name) => number(name, form))}
        ${choice("Verification rule", "rule", optionsOf(about.rules).slice(1))}
        ${about.devices.length ? choice("Device", "device", optionsOf(about.devices)) : nothing}
        ${about.dtypes.length ? choice("Number type", "dtype", optionsOf(about.dtypes)) : nothing}
      </div>
      ${
        numberOf(form.temperature, ranges.temperature) === 0
          ? html`<p
  class="hsd-note">${GREEDY}</p>`
          : nothing
      }
      <details class="hsd-settings">
        <summary>More settings</summary>
        <div>
          ${check("hsd-check", CHAT, form.chat, (chat) => set({ chat }))}
          ${hasFiles ? [line(target, "target"), line(folder, "databases", DATABASES)] : nothing}
        </div>
      </details>
      <button
        type="button"
        class="hsd-quiet"
        ?hidden=${!changed}
        title="Fill the form with the prompt and the settings of the run shown"
        @click=${() => store.set({ form: { ...filled } })}
      >
        Use the settings of the run shown
      </button>`;
  }
  return { template, error };
}
