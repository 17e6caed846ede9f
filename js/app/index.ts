// The page's header: name and introduction, and page-wide keys.
import { make } from "../lib/dom";
import { hsdGroup } from "../lib/group";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";
import { kernelOf, watchKernel } from "./kernel";
import { keySheet, typed } from "./keys";
import { lectureMode } from "./lecture";

/**
 * Keep the focus when a button disables itself: from a start button to Cancel, and back after the run. Returns a stop function.
 */
function keepFocus(app: Element) {
  let last: EventTarget | null = null; // last focused element; browsers may silently remove focus from a disabled button
  let lost: HTMLButtonElement | null = null;
  let starter: HTMLButtonElement | null = null;
  const watch = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (!(target instanceof HTMLButtonElement) || !target.disabled || target !== last) continue;
      lost = target;
      if (!target.matches(".hsd-cancel")) starter = target;
    }
    if (!lost) return;
    if (document.activeElement !== lost && document.activeElement !== document.body) {
      lost = null;
      return;
    }
    const other = lost.matches(".hsd-cancel")
      ? starter || app.querySelector(".hsd-primary")
      : app.querySelector(".hsd-cancel");
    const next = [other, lost].find((b) => b instanceof HTMLButtonElement && !b.disabled) as
      | HTMLButtonElement
      | undefined;
    if (!next) return;
    lost = null;
    next.focus({ preventScroll: true });
  });
  watch.observe(app, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
  const focused = (e: Event) => {
    last = e.target;
  };
  app.addEventListener("focusin", focused);
  return () => {
    watch.disconnect();
    app.removeEventListener("focusin", focused);
  };
}

/** Ctrl+Enter (⌘ Enter) presses the start button of the form that has the focus, else Run. Returns a stop function. */
function runByKey(app: HTMLElement) {
  const pressed = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    const field = e.target as HTMLElement;
    const button = (field.closest(".hsd-measure") || app).querySelector(".hsd-primary") as HTMLButtonElement | null;
    if (!button || button.disabled) return;
    e.preventDefault();
    // Number fields commit their text on "change".
    field.dispatchEvent(new Event("change", { bubbles: true }));
    button.click();
  };
  app.addEventListener("keydown", pressed);
  return () => app.removeEventListener("keydown", pressed);
}

interface Themes {
  chosen: () => string;
  choose: (name: string) => void;
}

/** Theme menu: light, dark or system, stored by the page's script (voila/templates/hsd). */
function themeSwitch(themes: Themes) {
  const menu = document.createElement("select");
  menu.className = "hsd-theme";
  menu.setAttribute("aria-label", "Theme");
  menu.title = "Theme of the page";
  for (const [name, words] of [
    ["system", "System theme"],
    ["light", "Light"],
    ["dark", "Dark"],
  ])
    menu.append(new Option(words, name));
  menu.value = themes.chosen();
  menu.addEventListener("change", () => themes.choose(menu.value));
  return menu;
}

/**
 * On a narrow page the form is closed, above the run: a button of the header opens it, and cancels a run in progress. Returns the
 * button and a function that stops following the form's buttons.
 */
function formSwitch(app: HTMLElement, button: HTMLButtonElement) {
  const cancel = app.querySelector<HTMLButtonElement>(".hsd-cancel");
  const run = app.querySelector<HTMLButtonElement>(".hsd-controls .hsd-primary");
  if (!cancel || !run) return () => {};
  const show = (open: boolean) => {
    app.classList.toggle("hsd-form-open", open);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = cancel.disabled ? (open ? "Close form" : "New run") : "Cancel run";
  };
  const pressed = () => {
    if (!cancel.disabled) cancel.click();
    else show(button.getAttribute("aria-expanded") !== "true");
  };
  let busy = run.disabled;
  const watch = new MutationObserver(() => {
    const started = run.disabled && !busy;
    busy = run.disabled;
    if (started && button.getClientRects().length) {
      // The run appears above the form.
      const focused = app.querySelector(".hsd-controls")?.contains(document.activeElement);
      show(false);
      if (focused) button.focus({ preventScroll: true });
      app.querySelector(".hsd-readout")?.scrollIntoView({ block: "nearest" });
    } else show(button.getAttribute("aria-expanded") === "true");
  });
  for (const node of [cancel, run]) watch.observe(node, { attributes: true, attributeFilter: ["disabled"] });
  button.addEventListener("click", pressed);
  show(false);
  return () => {
    watch.disconnect();
    button.removeEventListener("click", pressed);
  };
}

/** The banner of a page without a kernel; the parts that need it cannot be used. */
function lostBanner(app: Element, why: string, served: boolean) {
  app.querySelector(".hsd-lost")?.remove();
  for (const part of app.querySelectorAll(".hsd-controls, .hsd-recordings, .hsd-measure, .hsd-tour-button"))
    part.toggleAttribute("inert", Boolean(why));
  if (!why) return;
  const banner = make("div", "hsd-lost");
  banner.setAttribute("role", "alert");
  const words = served
    ? "A run in progress was interrupted. Prompt, stack, settings and finished runs are kept in this browser."
    : "Run the cell again to continue.";
  banner.append(make("strong", "", why), make("span", "", words));
  if (served) {
    const again = make("button", "", "Reload");
    again.addEventListener("click", () => location.reload());
    banner.append(again);
  }
  app.prepend(banner);
}

interface Traits {
  /** The name of the group of the run shown. */
  group: string;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const root = document.createElement("div");
  root.className = "hsd-header";
  const name = document.createElement("h1");
  name.textContent = "hsd_viz";
  const line = document.createElement("p");
  const term = document.createElement("strong");
  term.textContent = "Speculative decoding:";
  const tour = document.createElement("button");
  tour.type = "button";
  tour.textContent = "See it step by step";
  tour.hidden = true;
  tour.addEventListener("click", () =>
    (root.closest(".hsd-app")?.querySelector(".hsd-tour-button") as HTMLElement | null)?.click(),
  );
  line.append(
    term,
    " draft models or databases propose several tokens, and the target model verifies them in one forward pass. " +
      "The output is unchanged but can be faster. Every token below shows its source and verdict. ",
    tour,
  );
  const skip = document.createElement("a");
  skip.className = "hsd-skip";
  skip.href = `#${uid}`;
  skip.textContent = "Skip to the run shown";
  skip.addEventListener("click", (e) => {
    // In a notebook, JupyterLab handles fragment links.
    e.preventDefault();
    // Focus the first control: a container focusable only by script would be skipped in the reading order.
    (document.getElementById(uid)?.querySelector("select, button, input, [tabindex]") as HTMLElement | null)?.focus();
  });
  root.append(skip, name, line);
  const form = make("button", "hsd-form-switch jupyter-button", "New run");
  form.type = "button";
  // JupyterLab has its own theme menu.
  const themes = (window as { hsdTheme?: Themes }).hsdTheme;
  if (themes) root.append(themeSwitch(themes));
  const tools = make("div", "hsd-header-tools");
  const sheet = keySheet();
  const keys = make("button", "", "Keys");
  keys.title = "The keys of the page (?)";
  keys.addEventListener("click", () => sheet.showModal());
  const lecture = make("button", "", "Lecture mode");
  lecture.title = "Large type and one view, for a class (L)";
  tools.append(lecture, keys);
  root.append(tools, form, sheet);
  el.append(root);
  const asked = (e: KeyboardEvent) => {
    if (e.key !== "?" || sheet.open || typed(e, root.closest(".hsd-app"))) return;
    e.preventDefault();
    sheet.showModal();
  };
  document.addEventListener("keydown", asked);

  let unkeep = () => {};
  const standing = new ResizeObserver(() => {
    const app = root.closest<HTMLElement>(".hsd-app");
    if (!app) return;
    standing.disconnect();
    const kernel = kernelOf(model);
    const group = () => (model.get("group") ? hsdGroup(model.get("group")) : null);
    const stops = [keepFocus(app), runByKey(app), formSwitch(app, form), lectureMode(app, lecture, group)];
    if (kernel) stops.push(watchKernel(kernel, (why) => lostBanner(app, why, Boolean(themes))));
    form.hidden = !app.querySelector(".hsd-controls .hsd-primary");
    unkeep = () => stops.forEach((stop) => stop());
    tour.hidden = !app.querySelector(".hsd-tour-button");
    const main = app.querySelector(".hsd-main");
    if (main) main.id = uid;
  });
  standing.observe(root);
  return () => {
    document.removeEventListener("keydown", asked);
    standing.disconnect();
    unkeep();
    root.remove();
  };
}

export default { render: guarded(render) };
