// @ts-check
// The page's header: the name and one line of explanation.

function render({ el }) {
  const root = document.createElement("header");
  root.className = "hsd-header";
  const name = document.createElement("h1");
  name.textContent = "hsd_viz";
  const line = document.createElement("p");
  line.textContent = "Where does every token come from? Speculative decoding, run for real and recorded token by token.";
  root.append(name, line);
  el.append(root);

  // plotly fits its figures when the window is resized; here they are also resized when style sheets arrive late, or a
  // JupyterLab panel is dragged. Tell it, at most once a frame.
  let asked = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => window.dispatchEvent(new Event("resize")));
  });
  const watch = setInterval(() => {
    const charts = root.closest(".hsd-app")?.querySelectorAll(".hsd-chart");
    if (!charts?.length) return;
    clearInterval(watch);
    charts.forEach((chart) => observer.observe(chart));
  }, 100);
  return () => { clearInterval(watch); observer.disconnect(); root.remove(); };
}

export default { render };
