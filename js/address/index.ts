// A button that copies the link to the event under the cursor.

import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";

interface Traits {
  name: string;
  start: { run?: string; step?: number };
  served: boolean;
  waits: boolean;
}

/**
 * The link to an event: the page's address with only our three parameters (it must not contain a server token).
 * `page`: address of the page      `step`: from 0, -1: none
 */
export function linkTo(page: string, trace: string, step: number, dark: boolean) {
  const url = new URL(page);
  const query = new URLSearchParams();
  query.set("trace", trace);
  if (step >= 0) query.set("step", String(step + 1)); // as the player counts events
  if (dark) query.set("theme", "dark");
  url.search = query.toString();
  url.hash = "";
  url.username = url.password = "";
  return url.href;
}

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
    const link = linkTo(location.href, model.get("name"), group.cursor.step, root.classList.contains("hsd-dark"));
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
  follow(onStore, paint);
  model.on("change:start", go);
  model.on("change:name change:served", paint);
  if (model.get("waits")) model.send({ kind: "query", query: location.search.slice(0, 2000) });
  paint();
  go();
  return () => {
    clearTimeout(timer);
    model.off("change:start", go);
    model.off("change:name change:served", paint);
  };
}
export default linkedWidget(addressView);
