// A lane's queries are copied to an array, which a CPU reads much faster than a buffer.
const HEAD_QUADS = 1u;

alias Queries = array<vec4f, TILES * HEAD_QUADS>;

// `rows`: index at which each query's head begins.
fn fetch_queries(rows: array<u32, TILES>, queries: ptr<function, Queries>) {
  for (var d = 0u; d < args.dims / 4u; d++) { // a run-time bound, because drivers unroll loops with constant bounds
    for (var t = 0u; t < TILES; t++) {
      (*queries)[d * TILES + t] = q[rows[t] + d] * args.scale;
    }
  }
}

fn query_quad(queries: ptr<function, Queries>, t: u32, d: u32) -> vec4f {
  return (*queries)[d * TILES + t];
}
