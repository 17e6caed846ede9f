// Sources: their colours and words.

/** The visitor as a source of drafts. */
export const YOU = "you";

/** A family of sources: label and colours on a light and a dark page. */
export interface Hue {
  label: string;
  light: string;
  dark: string;
}
/** Colours by source family, and the names of baselines and databases. */
export interface PaletteData {
  hues: Record<string, Hue>;
  baselines: string[];
  databases: string[];
}
export type Palette = ReturnType<typeof paletteOf>;

/**
 * Sources in a view's `palette`: family(source) is the colour key (data-family), words and phrase
 * are labels.
 */
export function paletteOf(palette: PaletteData) {
  const family = (s: string) =>
    s in palette.hues && s !== "draft" && s !== "baseline"
      ? s
      : palette.baselines.includes(s)
        ? "baseline"
        : "draft";
  return {
    family,
    /** nano, draft model */
    words(s: string) {
      if (s === YOU) return s;
      const f = family(s);
      return f === "draft"
        ? `${s}, draft model`
        : f === "baseline"
          ? `${s}, baseline`
          : palette.hues[f].label;
    },
    /** the draft model nano: within a sentence */
    phrase(s: string) {
      if (s === YOU) return s;
      const f = family(s);
      if (palette.databases.includes(s)) return `the ${palette.hues[f].label}`;
      return f === "target"
        ? "the target"
        : `the ${f === "baseline" ? "baseline" : "draft model"} ${s}`;
    },
    paint(root: HTMLElement) {
      for (const [name, hue] of Object.entries(palette.hues)) {
        root.style.setProperty(`--hsd-${name}-light`, hue.light);
        root.style.setProperty(`--hsd-${name}-dark`, hue.dark);
      }
    },
  };
}
