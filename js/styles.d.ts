/** Styles of the views as text, from build.mjs. */
declare module "hsd-viz:style" {
  const text: string;
  export default text;
}
/** Styles of the elements for other pages. */
declare module "hsd-viz:elements-style" {
  const text: string;
  export default text;
}
