// @ts-check
// ipywidgets writes a slider's name beside it, but not on the handle that takes the focus, nor on its figure, which can be written in.

function name(/** @type {Element} */ box) {
  for (const slider of box.querySelectorAll(".widget-slider")) {
    const words = slider.querySelector(".widget-label")?.textContent;
    if (!words) continue;
    slider.querySelector(".noUi-handle")?.setAttribute("aria-label", words);
    const figure = slider.querySelector(".widget-readout");
    figure?.setAttribute("role", "textbox");
    figure?.setAttribute("aria-label", `${words}, figure`);
  }
}

function render({ el }) {
  // The box comes onto the page, and its sliders into it, after this.
  const look = new MutationObserver(() => name(box()));
  const box = () => el.closest(".widget-box") || el;
  const laidOut = new ResizeObserver(() => {
    if (!el.closest(".widget-box")) return;
    laidOut.disconnect();
    look.observe(box(), { childList: true, subtree: true });
    name(box());
  });
  laidOut.observe(el);
  return () => { laidOut.disconnect(); look.disconnect(); };
}

export default { render };
