// Inputs of attention other than keys and values.
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(7) var<storage, read> pages: array<u32>;
