// ipywidgets does not label slider handles and their editable values.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

function name(box: Element) {
  for (const slider of box.querySelectorAll(".widget-slider")) {
    const words = slider.querySelector(".widget-label")?.textContent;
    if (!words) continue;
    slider.querySelector(".noUi-handle")?.setAttribute("aria-label", words);
    const figure = slider.querySelector(".widget-readout");
    figure?.setAttribute("role", "textbox");
    figure?.setAttribute("aria-label", `${words}, value`);
  }
}

function render({ el }: Drawing<object>) {
  // The box and its sliders are attached later.
  const look = new MutationObserver(() => name(box()));
  const box = () => el.closest(".widget-box") || el;
  const laidOut = new ResizeObserver(() => {
    if (!el.closest(".widget-box")) return;
    laidOut.disconnect();
    look.observe(box(), { childList: true, subtree: true });
    name(box());
  });
  laidOut.observe(el);
  return () => {
    laidOut.disconnect();
    look.disconnect();
  };
}

export default { render: guarded(render) };
