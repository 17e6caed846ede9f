// Prepares the documents of the tests: happy-dom, unlike browsers, has no setter for the style of
// an element of SVG.
const prototype = globalThis.SVGElement?.prototype;
const style = prototype && Object.getOwnPropertyDescriptor(prototype, "style");
if (style && !style.set) {
  Object.defineProperty(prototype, "style", {
    ...style,
    set(this: SVGElement, text: string) {
      this.style.cssText = text;
    },
  });
}
