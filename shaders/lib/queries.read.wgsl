// A lane's queries are read from their buffer, which a GPU caches.
alias Queries = array<u32, TILES>;

// `rows`: index at which each query's head begins.
fn fetch_queries(rows: array<u32, TILES>, queries: ptr<function, Queries>) {
  *queries = rows;
}

fn query_quad(queries: ptr<function, Queries>, t: u32, d: u32) -> vec4f {
  return q[(*queries)[t] + d] * args.scale;
}
