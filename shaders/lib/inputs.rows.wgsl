// Some rows come from a buffer of embeddings, whose rows are as wide as y's.
@group(0) @binding(6) var<storage, read> inputs: array<vec4f>;

fn is_input(source: u32) -> bool {
  return (source & (FROM_SLOT | FROM_INPUT)) == FROM_INPUT;
}

fn input_quad(source: u32, quad: u32) -> vec4f {
  return inputs[(source & ~FROM_INPUT) * args.y_quads + quad];
}
