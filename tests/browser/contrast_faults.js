() => {
  const parse = (c) => {
    const m = c.match(/[\d.]+/g).map(Number);
    const scale = c.startsWith("color(") ? 255 : 1;
    return [m[0] * scale, m[1] * scale, m[2] * scale, m[3] ?? 1];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (n) => {
    const all = [];
    for (let p = n; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c[3]) all.push(c);
      if (c[3] === 1) break;
    }
    return all.reverse().reduce((base, c) => over(c, base), [255, 255, 255]);
  };
  const faults = [];
  for (const n of document.querySelectorAll(".hsd-app svg:not(.main-svg) text:not(.hsd-tl-word), .hsd-app .hsd-tok, .hsd-app .hsd-key, .hsd-app p")) {
    if (!n.textContent.trim() || !n.checkVisibility() || n.closest(".js-plotly-plot")) continue;
    // The ground of a letter of the race is its badge.
    const page = behind(n.closest("svg")?.parentElement ?? n);
    const back = n.closest(".hsd-vs-head") ? over(parse(getComputedStyle(n.previousElementSibling).fill), page) : page;
    const style = getComputedStyle(n);
    const ink = over(parse(n.ownerSVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.4) faults.push(`contrast ${ratio.toFixed(1)}: ${n.getAttribute("class")} “${n.textContent.slice(0, 30)}”`);
  }
  return [...new Set(faults)].slice(0, 8);
}
