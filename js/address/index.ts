// A button that copies the link to the event under the cursor.

import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";

interface Traits {
  name: string;
  start: { run?: string; step?: number };
  /** The parameters of the page as it is. */
  state: Record<string, string>;
  /** The last return to an entry of the history that `state` has followed. */
  returned: number;
  served: boolean;
  waits: boolean;
}

/**
 * The link to an event: the page's address with only our parameters (it must not contain a server token).
 * `page`: address of the page      `step`: from 0, -1: none
 */
export function linkTo(page: string, trace: string, step: number, dark: boolean, state: Record<string, string> = {}) {
  const url = new URL(page);
  const query = new URLSearchParams({ ...state, trace });
  if (step >= 0) query.set("step", String(step + 1)); // as the player counts events
  if (dark) query.set("theme", "dark");
  url.search = query.toString();
  url.hash = "";
  url.username = url.password = "";
  return url.href;
}

/** The parameters that belong to the page; others, as a server token, stay as they are. */
const OURS = ["trace", "step", "tab", "prompt", "stack", "temperature", "top_k", "top_p", "seed", "rule", "tokens"];
/** Those whose change is a step of the browser's history. */
const STEPS = ["trace", "tab"];

/** The page's address with these parameters, and whether it is a step of the history. */
export function addressOf(page: string, state: Record<string, string>) {
  const url = new URL(page);
  const before = new URLSearchParams(url.search);
  for (const name of OURS) {
    if (name in state) url.searchParams.set(name, state[name]);
    else url.searchParams.delete(name);
  }
  return { href: url.href, step: STEPS.some((name) => before.get(name) !== url.searchParams.get(name)) };
}

/** As in address.py. */
const MOST_QUERY = 8000;
const NO_LINK = "No link: this run exists only on this page. Save it to share the file.";

function addressView({ model, root, group, store, follow }: View<Traits>) {
  root.classList.add("hsd-address");
  const button = make("button", "jupyter-button hsd-quiet");
  button.type = "button";
  const said = make("span", "hsd-address-said");
  said.setAttribute("role", "status");
  const field = make("input", "hsd-address-link");
  field.readOnly = true;
  field.hidden = true;
  field.setAttribute("aria-label", "Link to this step");
  root.append(button, said, field);

  let timer = 0;
  function paint() {
    // In JupyterLab the address does not belong to the dashboard.
    root.hidden = !model.get("served");
    const none = !model.get("name");
    const words = none ? NO_LINK : group.cursor.step >= 0 ? "Copy link to this step" : "Copy link to this run";
    // Not disabled, so that it stays focusable and can show the reason.
    button.setAttribute("aria-disabled", String(none));
    button.textContent = timer ? "Copied" : "Copy link";
    button.title = words;
    button.setAttribute("aria-label", none ? "Copy link" : words);
  }
  function away() {
    field.hidden = true;
  }
  button.addEventListener("click", async () => {
    if (!model.get("name")) {
      said.textContent = NO_LINK;
      return;
    }
    const link = linkTo(
      location.href,
      model.get("name"),
      group.cursor.step,
      root.classList.contains("hsd-dark"),
      model.get("state"),
    );
    away();
    try {
      await navigator.clipboard.writeText(link);
      said.textContent = "Link copied";
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = 0;
        said.textContent = "";
        paint();
      }, 2500);
      paint();
    } catch {
      // The clipboard needs a secure connection and permission; otherwise the link is shown for manual copying.
      field.value = link;
      field.hidden = false;
      field.focus();
      field.select();
      said.textContent = "Copy the link from the field";
    }
  });
  field.addEventListener("blur", away);
  field.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      away();
      button.focus();
      e.stopPropagation();
    }
  });

  let gone = "";
  function go() {
    const { run, step } = model.get("start");
    if (run === undefined || run !== store.run || !store.tokens.length || gone === `${run}:${step}`) return;
    gone = `${run}:${step}`;
    group.pin({ step });
  }
  const onStore = (what: string) => {
    if (what === "reset") go();
  };
  // Edits of the form are written together; the first state is that of the page's own address.
  let first = true;
  let writing = 0;
  // After a return to an entry of the history, the page's state is an older one until Python has followed that entry.
  let number = 0;
  const follows = () => model.get("returned") >= number;
  function write() {
    clearTimeout(writing);
    writing = 0;
    if (!model.get("served")) return;
    const { href, step } = addressOf(location.href, model.get("state"));
    if (href !== location.href) history[step && !first ? "pushState" : "replaceState"](null, "", href);
    first = false;
  }
  function onState() {
    if (!follows()) return;
    const { step } = addressOf(location.href, model.get("state"));
    if (step || first) write();
    else writing ||= setTimeout(write, 400);
  }
  function back() {
    clearTimeout(writing);
    writing = 0;
    number = Math.max(number, model.get("returned")) + 1;
    model.send({ kind: "back", query: location.search.slice(0, MOST_QUERY), number });
  }
  // It is the same entry: a new one would remove those that follow it.
  function onReturned() {
    if (!follows()) return;
    first = true;
    write();
  }
  if (model.get("served")) addEventListener("popstate", back);

  follow(onStore, paint);
  model.on("change:state", onState);
  model.on("change:returned", onReturned);
  model.on("change:start", go);
  model.on("change:name change:served", paint);
  if (model.get("waits")) model.send({ kind: "query", query: location.search.slice(0, MOST_QUERY) });
  paint();
  go();
  return () => {
    clearTimeout(timer);
    clearTimeout(writing);
    removeEventListener("popstate", back);
    model.off("change:state", onState);
    model.off("change:returned", onReturned);
    model.off("change:start", go);
    model.off("change:name change:served", paint);
  };
}
export default linkedWidget(addressView);
