// The texts of shaders/ by path. The bundler replaces this file by one that holds them (scripts/setup/bundle.mjs); outside of the bundle there
// are none.

export const SHADERS: Readonly<Record<string, string>> = {};
