// Adds the row of the token's type.
@group(0) @binding(8) var<storage, read> types: array<vec4f>;

fn place(at: u32, kind: u32, quad: u32) -> vec4f {
  return types[kind * args.y_quads + quad];
}
