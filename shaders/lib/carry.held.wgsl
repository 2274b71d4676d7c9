// Keys strip by strip: from one to the next y holds sums not yet divided, and `state` what they are relative to.
const CONTINUES = false;
const ENDS = true;

@group(0) @binding(6) var<storage, read_write> state: array<vec2f>; // [query][head and part]: largest score, total

fn carried(query: u32, head: u32) -> vec2f {
  return state[query * args.heads * args.parts + head];
}

fn carry(query: u32, head: u32, largest: f32, total: f32) {
  state[query * args.heads * args.parts + head] = vec2f(largest, total);
}
