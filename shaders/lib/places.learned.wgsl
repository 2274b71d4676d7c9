// A learned row for each place in a text.
@group(0) @binding(7) var<storage, read> positions: array<vec4f>;

fn place(at: u32, quad: u32) -> vec4f {
  return positions[(args.first_place + at) * args.y_quads + quad];
}
