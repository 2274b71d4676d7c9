// Queries go to q, keys to their pages, two dimensions at a time.
fn put(row: u32, head: u32, token: u32, d: u32, pair: vec2f) {
  if (head < args.heads) {
    q[row * args.q_pairs + (head * stored_dims() + d) / 2u] = pair;
  } else {
    write_key(places[row] / 32u * args.kv_heads + head - args.heads, token, d, stored_dims(), pair);
  }
}
