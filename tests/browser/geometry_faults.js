() => {
  const app = document.querySelector(".hsd-app"), page = app.getBoundingClientRect(), faults = [];
  const name = (n) => `${n.getAttribute("class") ?? n.tagName} “${n.textContent.trim().slice(0, 30)}”`;
  const seen = (n) => n.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && n.getClientRects().length;
  for (const svg of app.querySelectorAll("svg:not(.main-svg)")) {
    if (!seen(svg) || svg.closest(".js-plotly-plot")) continue;
    const frame = svg.getBoundingClientRect(), texts = [];
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || !seen(text)) continue;
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 3 || box.right > frame.right + 3) faults.push(`outside its drawing: ${name(text)}`);
      for (const [other, of] of texts) {
        const over = [Math.min(box.right, of.right) - Math.max(box.left, of.left), Math.min(box.bottom, of.bottom) - Math.max(box.top, of.top)];
        if (over[0] > 2 && over[1] > 4) faults.push(`overlap: ${name(text)} and ${name(other)}`);
      }
      texts.push([text, box]);
    }
  }
  for (const n of app.querySelectorAll("h1, h2, h3, h4, th, button, label, summary, .hsd-tile-value, .hsd-key")) {
    if (!seen(n) || n.closest(".js-plotly-plot, select, .hsd-heard") || n.matches(".hsd-skip")) continue;
    const style = getComputedStyle(n);
    if (n.scrollWidth > n.clientWidth + 1 && n.clientWidth && style.overflowX !== "visible" && style.textOverflow !== "ellipsis")
      faults.push(`clipped: ${name(n)}`);
    const box = n.getBoundingClientRect();
    const inside = n.closest("[tabindex='0'], .hsd-tabs, .hsd-sc-scroll");
    if (!inside && (box.left < page.left - 1 || box.right > page.right + 1)) faults.push(`beyond the page: ${name(n)}`);
  }
  if (app.scrollWidth > app.clientWidth) faults.push(`the page is ${app.scrollWidth - app.clientWidth} px too wide`);
  const line = parseFloat(getComputedStyle(document.querySelector(".hsd-text")).lineHeight);
  for (const strip of app.querySelectorAll(".hsd-strip"))
    if (strip.getClientRects().length > 1 && [...strip.getClientRects()].some((r) => r.height > 1.5 * line)) faults.push("a ghost breaks its line");
  for (const ghost of app.querySelectorAll(".hsd-strip :is(.hsd-ghost, .hsd-ghost-count)"))
    if (seen(ghost) && getComputedStyle(ghost).display !== "inline") faults.push(`a line of its own: ${name(ghost)}`);
  return [...new Set(faults)];
}
