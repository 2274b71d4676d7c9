// Adds a learned row for the token's position in its text, and the row of its type.
@group(0) @binding(7) var<storage, read> positions: array<vec4f>;
@group(0) @binding(8) var<storage, read> types: array<vec4f>;

fn place(at: u32, kind: u32, quad: u32) -> vec4f {
  return positions[(args.first_place + at) * args.y_quads + quad] + types[kind * args.y_quads + quad];
}
