// Computes attention in strips of keys: between strips y holds sums that are not normalized yet, and `state` their maxima and
// totals.
const CONTINUES = false;
const ENDS = true;

@group(0) @binding(6) var<storage, read_write> state: array<vec2f>; // [query][head and part]: largest score, sum of exponentials

fn carried(query: u32, head: u32) -> vec2f {
  return state[query * args.heads * args.parts + head];
}

fn carry(query: u32, head: u32, largest: f32, total: f32) {
  state[query * args.heads * args.parts + head] = vec2f(largest, total);
}
