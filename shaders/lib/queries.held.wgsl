// A lane's queries in an array of its own, which a CPU reads for a fraction of what a buffer costs.
const HEAD_QUADS = 1u;

alias Queries = array<vec4f, TILES * HEAD_QUADS>;

// `rows`: where each query's head begins.
fn fetch_queries(rows: array<u32, TILES>, queries: ptr<function, Queries>) {
  for (var d = 0u; d < args.dims / 4u; d++) { // a bound that drivers leave rolled, too
    for (var t = 0u; t < TILES; t++) {
      (*queries)[d * TILES + t] = q[rows[t] + d] * args.scale;
    }
  }
}

fn query_quad(queries: ptr<function, Queries>, t: u32, d: u32) -> vec4f {
  return (*queries)[d * TILES + t];
}
