// Lecture mode: the text or one tab, in large type, with the player; what follows the cursor can be hidden.
import { make } from "../lib/dom";
import type { Group } from "../lib/group";
import { typed } from "./keys";

/** Add lecture mode to the page. Returns a function that removes it. */
export function lectureMode(app: HTMLElement, starter: HTMLButtonElement, group: () => Group | null) {
  const bar = make("div", "hsd-lecture-bar");
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "Lecture mode");
  const button = (words: string, act: () => void) => {
    const node = make("button", "", words);
    node.addEventListener("click", act);
    bar.append(node);
    return node;
  };
  const views = [button("Text", () => view("text")), button("Round and other views", () => view("tab"))];
  const future = button("Hide the future", () => hide(!app.classList.contains("hsd-hide-future")));
  future.title = "Hide tokens and verdicts after the cursor (F)";
  button("Leave (Esc)", () => show(false));

  function view(name: string) {
    app.dataset.lecture = name;
    views.forEach((node, k) => node.setAttribute("aria-pressed", String(name === ["text", "tab"][k])));
  }
  function hide(on: boolean) {
    app.classList.toggle("hsd-hide-future", on);
    future.setAttribute("aria-pressed", String(on));
    const shown = group();
    if (!shown) return;
    if (on) {
      // Guessing begins before the first event, or at the cursor.
      shown.pause();
      shown.scrub(Math.max(0, shown.cursor.step));
    } else shown.release();
  }
  function show(on: boolean) {
    app.classList.toggle("hsd-lecture", on);
    if (on) {
      view("text");
      app.prepend(bar);
      hide(false);
      // Without permission the mode fills the window.
      document.documentElement.requestFullscreen?.().catch(() => {});
      (app.querySelector(".hsd-out") as HTMLElement | null)?.focus({ preventScroll: true });
    } else {
      hide(false);
      bar.remove();
      delete app.dataset.lecture;
      if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
      starter.focus({ preventScroll: true });
    }
  }
  const on = () => app.classList.contains("hsd-lecture");
  const keydown = (e: KeyboardEvent) => {
    if (e.key === "Escape" && on()) {
      // The player's Escape would show the whole text.
      e.stopPropagation();
      e.preventDefault();
      show(false);
    } else if (typed(e, app)) return;
    else if (e.key.toLowerCase() === "l") show(!on());
    else if (e.key.toLowerCase() === "f" && on()) hide(!app.classList.contains("hsd-hide-future"));
    else if (on() && !e.defaultPrevented && document.activeElement === document.body) group()?.keydown(e);
  };
  // Leaving full screen by the browser's own key leaves the mode.
  const left = () => {
    if (!document.fullscreenElement && on()) show(false);
  };
  const start = () => show(true);
  starter.addEventListener("click", start);
  document.addEventListener("keydown", keydown, true);
  document.addEventListener("fullscreenchange", left);
  return () => {
    starter.removeEventListener("click", start);
    document.removeEventListener("keydown", keydown, true);
    document.removeEventListener("fullscreenchange", left);
    bar.remove();
  };
}
