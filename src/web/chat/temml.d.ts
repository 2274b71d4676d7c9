// The source of temml, which leaves out its macros of chemistry; the package has types for the whole only.

declare module 'temml/temml.js' {
  import type whole from 'temml';

  const temml: typeof whole;
  export default temml;
}
