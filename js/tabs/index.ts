// A tab strip. The panel is switched at once by a class of the surrounding box; Python then fills it.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  titles: string[];
  selected: number;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const strip = document.createElement("div");
  strip.className = "hsd-tabs";
  strip.setAttribute("role", "tablist");
  strip.setAttribute("aria-label", model.get("label"));
  let tabs: HTMLButtonElement[] = [];

  function apply() {
    const chosen = model.get("selected");
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
    });
    const box = strip.closest(".hsd-explorer") as HTMLElement | null;
    if (!box) return;
    box.dataset.open = String(chosen);
    box.classList.toggle(
      "hsd-open-apart",
      Boolean(box.querySelector(`.hsd-panel-${chosen}`)?.classList.contains("hsd-apart")),
    );
    tabs.forEach((tab, i) => {
      const panel = box.querySelector(`.hsd-panel-${i}`);
      if (!panel) return;
      panel.classList.toggle("hsd-panel-open", i === chosen);
      panel.id ||= `${uid}-p${i}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      tab.setAttribute("aria-controls", panel.id);
    });
  }
  function choose(i: number) {
    model.set("selected", i);
    model.save_changes();
    tabs[i].focus();
    // On a narrow page the strip may overflow.
    tabs[i].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  function fill() {
    tabs = model.get("titles").map((title, i) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = `${uid}-t${i}`;
      tab.textContent = title;
      tab.setAttribute("role", "tab");
      tab.addEventListener("click", () => choose(i));
      return tab;
    });
    strip.replaceChildren(...tabs);
    apply();
  }
  strip.addEventListener("keydown", (e) => {
    const at = tabs.indexOf(e.target as HTMLButtonElement);
    const to = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[e.key];
    if (at < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    choose(to);
    e.preventDefault();
    e.stopPropagation();
  });
  /** Mark the ends where the strip overflows. */
  function more() {
    strip.classList.toggle("hsd-more-left", strip.scrollLeft > 2);
    strip.classList.toggle("hsd-more-right", strip.scrollLeft + strip.clientWidth < strip.scrollWidth - 2);
  }
  strip.addEventListener("scroll", more, { passive: true });
  model.on("change:selected", apply);
  model.on("change:titles", fill);
  el.append(strip);
  fill();
  // The panels are attached after the strip.
  const laidOut = new ResizeObserver(() => {
    apply();
    more();
  });
  laidOut.observe(strip);
  return () => {
    laidOut.disconnect();
    model.off("change:selected", apply);
    model.off("change:titles", fill);
    strip.remove();
  };
}

export default { render: guarded(render) };
