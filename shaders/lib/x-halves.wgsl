// The input of a product as halve-rows.wgsl leaves it: eight f16 an element, and behind each row the factor of its results.

@group(0) @binding(0) var<storage, read> x: array<vec4u>; // [row][k / 8]

fn factor_of(row: u32) -> f32 {
  return bitcast<f32>(x[x_row(row) * args.x_quads + 4u * args.blocks].x);
}
