// The input of a product in f32: [row][quad of columns].

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
