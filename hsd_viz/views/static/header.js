// @ts-check
// The page's header: the name and one line of explanation.

/**
 * A button that disables itself when it is pressed would lose the keyboard's focus: from what starts a run it goes to Cancel, and from
 * there, when the run is over, back. Returns what ends it.
 */
function keepFocus(/** @type {Element} */ app) {
  /** @type {EventTarget | null} */ let last = null; // where the focus was; a browser may take it from a disabled button without a word
  /** @type {HTMLButtonElement | null} */ let lost = null;
  /** @type {HTMLButtonElement | null} */ let starter = null;
  const watch = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (!(target instanceof HTMLButtonElement) || !target.disabled || target !== last) continue;
      lost = target;
      if (!target.matches(".hsd-cancel")) starter = target;
    }
    if (!lost) return;
    if (document.activeElement !== lost && document.activeElement !== document.body) { lost = null; return; }
    const other = lost.matches(".hsd-cancel") ? starter || app.querySelector(".hsd-primary") : app.querySelector(".hsd-cancel");
    const next = /** @type {HTMLButtonElement | undefined} */ ([other, lost].find((b) => b instanceof HTMLButtonElement && !b.disabled));
    if (!next) return;
    lost = null;
    next.focus({ preventScroll: true });
  });
  watch.observe(app, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
  const focused = (/** @type {Event} */ e) => { last = e.target; };
  app.addEventListener("focusin", focused);
  return () => { watch.disconnect(); app.removeEventListener("focusin", focused); };
}

/** Light, dark, or as the system has it; what the page's own script keeps (voila/templates/hsd). */
function themeSwitch(/** @type {{chosen: () => string, choose: (name: string) => void}} */ themes) {
  const menu = document.createElement("select");
  menu.className = "hsd-theme";
  menu.setAttribute("aria-label", "Theme");
  menu.title = "Theme of the page";
  for (const [name, words] of [["system", "System theme"], ["light", "Light"], ["dark", "Dark"]]) menu.append(new Option(words, name));
  menu.value = themes.chosen();
  menu.addEventListener("change", () => themes.choose(menu.value));
  return menu;
}

function render({ el }) {
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
  tour.addEventListener("click", () => /** @type {HTMLElement | null} */ (root.closest(".hsd-app")?.querySelector(".hsd-tour-button"))?.click());
  line.append(
    term,
    " a small model or a look-up guesses the next tokens; the large model checks them all in one forward and keeps those that it would have written itself. " +
    "The text stays the same, and may come sooner. Here every token shows where it came from. ",
    tour,
  );
  const skip = document.createElement("a");
  skip.className = "hsd-skip";
  skip.href = `#${uid}`;
  skip.textContent = "Skip to the run shown";
  skip.addEventListener("click", (e) => {
    // In a notebook an address within the page would be JupyterLab's own.
    e.preventDefault();
    // Not the box itself: one that takes the focus by script alone would be left out where the reading order is that of the eye.
    /** @type {HTMLElement | null} */ (document.getElementById(uid)?.querySelector("select, button, input, [tabindex]"))?.focus();
  });
  root.append(skip, name, line);
  // Where the page is JupyterLab's, so is the theme.
  const themes = /** @type {any} */ (window).hsdTheme;
  if (themes) root.append(themeSwitch(themes));
  el.append(root);

  // plotly fits its figures when the window is resized; here they are also resized when style sheets arrive late, or a
  // JupyterLab panel is dragged. Tell it, at most once a frame.
  let asked = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => window.dispatchEvent(new Event("resize")));
  });
  // What a chart shows is written beside it for those who hear the page; its ticks and labels one by one would be noise.
  const drawn = new MutationObserver((changes) => {
    for (const { target } of changes) {
      /** @type {Element} */ (target).closest(".hsd-chart")?.querySelectorAll(".main-svg:not([aria-hidden])").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
    }
  });
  let unkeep = () => {};
  const standing = new ResizeObserver(() => {
    const app = root.closest(".hsd-app");
    if (!app) return;
    standing.disconnect();
    unkeep = keepFocus(app);
    tour.hidden = !app.querySelector(".hsd-tour-button");
    const main = app.querySelector(".hsd-main");
    if (main) main.id = uid;
  });
  standing.observe(root);
  const watch = setInterval(() => {
    const charts = root.closest(".hsd-app")?.querySelectorAll(".hsd-chart");
    if (!charts?.length) return;
    clearInterval(watch);
    charts.forEach((chart) => { observer.observe(chart); drawn.observe(chart, { childList: true, subtree: true }); });
  }, 100);
  return () => { clearInterval(watch); observer.disconnect(); drawn.disconnect(); standing.disconnect(); unkeep(); root.remove(); };
}

export default { render };
