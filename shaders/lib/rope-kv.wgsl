// Arguments of rope-kv.wgsl, rope-kv-lanes.wgsl and rope-kv-codes.wgsl, and where a head's dimensions lie.
const WIDENED = 0u; // dimensions of heads of q and of pages behind those of qkv

struct Args {
  heads: u32,
  kv_heads: u32,
  dims: u32,        // dimensions of a head; even
  query_step: u32,  // heads of columns from one query of a group to the next
  group: u32,       // queries of a group
  group_step: u32,  // heads of columns from one group to the next
  first_key: u32,   // heads of columns before the first key
  first_value: u32,
  kv_step: u32,     // heads of columns from one key to the next, and from one value to the next
  rotated: u32,     // of the dimensions; even
  qkv_pairs: u32,   // pairs of columns from one row of qkv to the next
  q_pairs: u32,
  rope_quads: u32,  // quads of columns from one row of rope to the next
  scale: f32,       // factor on q: the scale of the scores
  eps: f32,
  norm_values: u32,   // 1: values are normed, too
  growth: f32,        // beta of the growth of queries
  growth_first: u32,  // added to positions for it
  growth_length: u32, // tokens after which queries grow
  slope_heads: u32,   // heads of the first series of slopes, a power of two
  slope_step: f32,    // log2 of two neighbouring slopes of that series
  slope_scale: f32,   // factor on all slopes
}

@group(0) @binding(0) var<storage, read> qkv: array<vec2f>;
@group(0) @binding(2) var<storage, read> places: array<u32>; // page · 32 + position in the page, of each row
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> q: array<vec2f>;

// Heads of columns before a head, which is a query, a key or a value.
fn stored_at(head: u32) -> u32 {
  if (head < args.heads) {
    return head / args.group * args.group_step + head % args.group * args.query_step;
  }
  let kv_head = head - args.heads;
  if (kv_head < args.kv_heads) {
    return args.first_key + kv_head * args.kv_step;
  }
  return args.first_value + (kv_head - args.kv_heads) * args.kv_step;
}

// Dimensions of a head in q and in pages, a multiple of 4.
fn stored_dims() -> u32 {
  return args.dims + WIDENED;
}

// Writes two rotated dimensions of a query or key head.
fn put_turned(row: u32, head: u32, token: u32, d: u32, pair: vec2f) {
  put(row, head, token, d, pair * turned_weight(head >= args.heads, d));
}

// Two dimensions of a query or key head, normed and scaled.
fn value(base: u32, d: u32, scale: f32, is_query: bool) -> vec2f {
  return qkv[base + d / 2u] * scale * head_weight(!is_query, d);
}
