// The form of a new run: a decode request (host.ts), field by field.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { About } from "../host";
import { parseStack, refusalOf } from "../lib/stack";
import { unique } from "../lib/widget";
import { changedIn, type Form, NUMBERS, numberOf, rangesOf, type Store } from "./state";

const GREEDY =
  "Greedy decoding: small models then repeat themselves, and repetitions are easy to draft. Speed-ups are those of a loop, not of typical text.";
type Field = { target: HTMLInputElement };

/** Return the form's template. `run` starts a decode, `cancel` ends it. */
export function formOf(store: Store, about: About, run: () => void, cancel: () => void) {
  const uid = unique();
  const ranges = rangesOf(about.limits.tokens);
  const set = (change: Partial<Form>) => store.set({ form: { ...store.state.form, ...change }, trouble: null });
  /** Why the text is not a stack, or not one of this page; "" if it is. */
  function error() {
    try {
      return refusalOf(parseStack(store.state.form.stack, about.sources), about.models);
    } catch (problem) {
      return (problem as Error).message;
    }
  }

  const menu = (
    label: string,
    name: keyof Form | "",
    options: [value: string, words: string][],
    value: string,
    take?: (value: string) => void,
  ) =>
    html`<label class="hsd-field">${label}<select
      @change=${({ target }: Field) => (take ? take(target.value) : set({ [name]: target.value }))}
      >${options.map(([v, words]) => html`<option value=${v} .selected=${live(v === value)}>${words}</option>`)}</select></label>`;
  const check = (words: string, name: "chat" | "beside_plain", on: boolean) =>
    html`<label class="hsd-check"><input type="checkbox" .checked=${live(on)}
      @change=${({ target }: Field) => set({ [name]: target.checked })}><span>${words}</span></label>`;
  const line = (label: string, name: keyof Form, value: string, hint = "") =>
    html`<label class="hsd-field">${label}<input class="hsd-mono" spellcheck="false" maxlength="1000" placeholder=${hint} .value=${live(value)}
      @input=${({ target }: Field) => set({ [name]: target.value })}></label>`;
  function number(name: (typeof NUMBERS)[number], form: Form) {
    const problem = numberOf(form[name], ranges[name]);
    const wrong = typeof problem === "string";
    const id = `${uid}-${name}`;
    return html`<div class="hsd-field"><label for="${id}-field">${ranges[name].label}</label><input id="${id}-field"
        inputmode="decimal" autocomplete="off" maxlength="100" .value=${live(form[name])}
        aria-invalid=${wrong ? "true" : nothing} aria-describedby=${wrong ? id : nothing}
        @input=${({ target }: Field) => set({ [name]: target.value })}
      ><span class="hsd-field-problem" id=${id}>${wrong ? problem : nothing}</span></div>`;
  }

  function template() {
    const { form, filled, busy } = store.state;
    const preset = about.prompts.find((p) => p.prompt === form.prompt);
    const stack = about.stacks.find(([text]) => text === form.stack);
    const changed = Object.keys(changedIn(form, filled)).length > 0;
    const wrong = error();
    const most = about.models === null || about.devices.length > 0;
    return html`<h2>New run</h2>
      ${menu(
        "Prompt preset",
        "",
        [...about.prompts.map((p): [string, string] => [p.title, p.title]), ["", "custom"]],
        preset?.title ?? "",
        (title) => {
          const chosen = about.prompts.find((p) => p.title === title);
          if (chosen) set({ prompt: chosen.prompt });
        },
      )}
      ${preset ? html`<p class="hsd-blurb">${preset.blurb}</p>` : nothing}
      <label class="hsd-field">Prompt<textarea class="hsd-mono" rows="8" spellcheck="false" .value=${live(form.prompt)}
        @input=${(e: { target: HTMLTextAreaElement }) => set({ prompt: e.target.value })}></textarea></label>
      ${menu(
        "Stack preset",
        "",
        [...about.stacks.map(([text, words]): [string, string] => [text, `${text}  (${words})`]), ["", "custom"]],
        stack?.[0] ?? "",
        (text) => text && set({ stack: text }),
      )}
      ${line("Stack", "stack", form.stack)}
      <p class="hsd-field-problem" role="status">${wrong ? `${wrong[0].toUpperCase()}${wrong.slice(1)}.` : nothing}</p>
      <div class="hsd-buttons">
        <button type="button" class="hsd-button-main" title="Decode the prompt with the stack (Ctrl+Enter)" ?disabled=${busy} @click=${run}>Run</button>
        <button type="button" class="hsd-cancel" title="Stop after the current token" ?disabled=${!busy} @click=${cancel}>Cancel</button>
      </div>
      ${check("Measure speed-up over plain decoding", "beside_plain", form.beside_plain)}
      <div class="hsd-fields">
        ${NUMBERS.map((name) => number(name, form))}
        ${menu(
          "Verification rule",
          "rule",
          about.rules.map((rule) => [rule, rule]),
          form.rule,
        )}
        ${about.devices.length ? menu("Device", "device", [["", "automatic"], ...about.devices.map((d): [string, string] => [d, d])], form.device) : nothing}
        ${about.dtypes.length ? menu("Number type", "dtype", [["", "automatic"], ...about.dtypes.map((d): [string, string] => [d, d])], form.dtype) : nothing}
      </div>
      ${numberOf(form.temperature, ranges.temperature) === 0 ? html`<p class="hsd-blurb">${GREEDY}</p>` : nothing}
      <details class="hsd-settings"><summary>More settings</summary><div>
        ${check("Chat: format the prompt by the target's chat template", "chat", form.chat)}
        ${most ? line(`Target model (${about.models?.join(", ") ?? "a ladder name, hub id or path"})`, "target", form.target) : nothing}
        ${
          most
            ? line(
                `Folder of databases (empty: shipped${about.models ? "; others need --allow-models" : ""})`,
                "databases",
                form.databases,
                "made by hsd-viz databases build",
              )
            : nothing
        }
      </div></details>
      <button type="button" class="hsd-quiet" ?hidden=${!changed} title="Fill the form with the prompt and the settings of the run shown"
        @click=${() => store.set({ form: { ...filled } })}>Use the settings of the run shown</button>`;
  }
  return { template, error };
}
