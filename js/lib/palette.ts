// Colours and names of draft sources.
import { drafterName } from "./drafter_names";

/** Name of the visitor as a draft source. */
export const YOU = "you";

/** A family of draft sources: its label, and its colours on a light and a dark page. */
export interface Hue {
  label: string;
  light: string;
  dark: string;
}
/** Colours by family of sources, and the names of baselines, of databases, and of the sources that
 *  copy from the text: they have the colour of the first. */
export interface PaletteData {
  hues: Record<string, Hue>;
  baselines: string[];
  copying: string[];
  databases: string[];
}
export type Palette = ReturnType<typeof paletteOf>;

/**
 * Return functions of a source's name: `family` is its colour key (data-family), `words` its label,
 * and `phrase` its name within a sentence.
 */
export function paletteOf(palette: PaletteData) {
  function family(s: string): string {
    const isOwn = s === YOU || (s in palette.hues && s !== "draft" && s !== "baseline");
    if (isOwn) return s;
    if (palette.copying.includes(s)) return palette.copying[0];
    return palette.baselines.includes(s) ? "baseline" : "draft";
  }
  return {
    family,
    /** For example "nano, draft model". */
    words(s: string) {
      if (s === YOU) return s;
      const f = family(s);
      if (f === "draft") return `${s}, draft model`;
      if (f === "baseline") return drafterName(s) ?? `${s}, baseline`;
      return palette.hues[f].label;
    },
    /** For example "the draft model nano", "the model database" or "copying". */
    phrase(s: string) {
      if (s === YOU) return s;
      const f = family(s);
      if (f === "target") return "the target";
      const name = drafterName(s);
      if (name) return name.endsWith(" database") ? `the ${name}` : name;
      return `the ${f === "baseline" ? "baseline" : "draft model"} ${s}`;
    },
    paint(root: HTMLElement) {
      for (const [name, hue] of Object.entries(palette.hues)) {
        root.style.setProperty(`--hsd-${name}-light`, hue.light);
        root.style.setProperty(`--hsd-${name}-dark`, hue.dark);
      }
    },
  };
}
