// The page's header: name and introduction, and page-wide keys.
import { make } from "../lib/dom";
import { hsdGroup } from "../lib/group";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";
import { kernelOf, watchKernel } from "./kernel";
import { keySheet, typed } from "./keys";
import { lectureMode } from "./lecture";

/** After a run starts or ends: keep the focus when its button disables itself. Returns a function that forgets the button. */
function keepFocus(app: Element, busy: () => boolean) {
  let last: Element | null = null; // browsers may silently remove focus from a disabled button
  const focused = (e: Event) => {
    last = e.target as Element;
  };
  app.addEventListener("focusin", focused);
  const change = () =>
    // The buttons change with the same message.
    setTimeout(() => {
      const [run, cancel] = [".hsd-controls .hsd-primary", ".hsd-cancel"].map((s) =>
        app.querySelector<HTMLButtonElement>(s),
      );
      const [from, to] = busy() ? [run, cancel] : [cancel, run];
      if (
        from &&
        to &&
        !to.disabled &&
        last === from &&
        [from, document.body].includes(document.activeElement as HTMLElement)
      )
        to.focus({ preventScroll: true });
    }, 50);
  return { change, end: () => app.removeEventListener("focusin", focused) };
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

/** The form is a drawer: a button of the header opens it, and cancels a run in progress. Returns what to call when a run starts or ends. */
function formSwitch(app: HTMLElement, button: HTMLButtonElement, busy: () => boolean) {
  const show = (open: boolean) => {
    app.classList.toggle("hsd-form-open", open);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = busy() ? "Cancel run" : open ? "Close form" : "New run";
  };
  const isOpen = () => button.getAttribute("aria-expanded") === "true";
  button.addEventListener("click", () => {
    if (busy()) app.querySelector<HTMLButtonElement>(".hsd-cancel")?.click();
    else show(!isOpen());
    if (isOpen()) app.querySelector<HTMLElement>(".hsd-controls :is(select, textarea)")?.focus({ preventScroll: true });
  });
  show(false);
  return () => {
    // On a narrow page the form covers the run.
    const form = app.querySelector<HTMLElement>(".hsd-controls");
    const covers = busy() && form !== null && form.offsetWidth > 0.6 * app.offsetWidth;
    const focused = form?.contains(document.activeElement);
    show(isOpen() && !covers);
    if (!covers) return;
    if (focused) button.focus({ preventScroll: true });
    app.querySelector(".hsd-transport")?.scrollIntoView({ block: "nearest" });
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
  /** Whether the page has a form, and whether a run is in progress. */
  form: boolean;
  busy: boolean;
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
  line.append(
    term,
    " draft models or databases propose several tokens, and the target model verifies them in one forward pass: the same text, faster.",
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
  form.hidden = !model.get("form");
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
    const busy = () => Boolean(model.get("busy"));
    const focus = keepFocus(app, busy);
    const switched = formSwitch(app, form, busy);
    const changed = () => {
      focus.change();
      switched();
    };
    model.on("change:busy", changed);
    const stops = [focus.end, runByKey(app), lectureMode(app, lecture, group), () => model.off("change:busy", changed)];
    if (kernel) stops.push(watchKernel(kernel, (why) => lostBanner(app, why, Boolean(themes))));
    unkeep = () => stops.forEach((stop) => stop());
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
