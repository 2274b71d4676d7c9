// Dense attention on matrix units, with online softmax: a workgroup computes a tile of lib/softmax-tile.wgsl of one head. Keys and values come from
// halve-keys.wgsl; each query is multiplied by a power of two as these are, and rounded to f16.
#import "lib/seen-keys.wgsl"
#import "lib/softmax-tile.wgsl"
#import "lib/softmax-row.wgsl"
enable f16;

struct Args {
  first_item: u32,  // items before this dispatch
  queries: u32,     // queries of an item, in this dispatch
  first_query: u32, // queries of the item before
  keys: u32,        // keys of an item
  first_key: u32,   // always 0: lib/keys.all.wgsl adds it
  heads: u32,
  share: u32,       // query heads per key head
  dims: u32,        // dimensions of a head
  q_row: u32,       // row of q at which the first item begins
  q_quads: u32,     // quads of columns from one row of q to the next
  q_first: u32,     // first quad of q's heads
  y_row: u32,       // row of y at which the first item begins
  y_quads: u32,
  first_kv: u32,    // items of kv before the first item
  causal: u32,      // whether a query sees only keys up to its own position
  blocks: u32,      // blocks of 32 keys of an item
  stride: u32,      // quads of words from one block to the next
  scale: f32,       // of the scores, times log2(e), because the softmax uses powers of two
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> kv: array<vec4u>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

const BLOCK = 4u * DIMS; // quads of words of a block's keys, and of its values
const HELD = (BLOCK + LANES - 1u) / LANES;
const LOADS_AHEAD = true; // whether there are registers for the next keys and values during the products of these

alias Lines = array<vec4u, HELD>; // eighths of lines

fn compute_tile(workgroup: vec3u, local: u32, subgroup: u32, lane: u32) {
  let first = workgroup.x * ROWS;
  let head = workgroup.y;
  let item = workgroup.z;
  let query = first + local / PER_ROW;
  let own_query = min(query, args.queries - 1u);
  let head_quads = args.dims / 4u;
  let count = count_of(item);
  let seen_keys = seen_of(count, min(first + ROWS, args.queries) - 1u);
  let own_row = item * args.queries + own_query;
  let q0 = (args.q_row + own_row) * args.q_quads + args.q_first + head * head_quads;
  let exponent = share_query(q0, head_quads, local);

  let part = part_of(subgroup);
  let kv0 = ((args.first_kv + item) * (args.heads / args.share) + head / args.share) * args.blocks * args.stride;
  var state = RowState(0u, seen_of(count, own_query), MASKED, 0.0);
  var out = Outs();
  var held: Lines;
  if (LOADS_AHEAD) {
    held = load_lines(kv0, local);
  }
  for (var block = 0u; block * BLOCK_KEYS < seen_keys; block++) {
    let at = kv0 + block * args.stride;
    let exponents = bitcast<vec2i>(kv[at + 2u * BLOCK].xy);
    if (!LOADS_AHEAD) {
      held = load_lines(at, local);
    }
    for (var n = 0u; n < turns(HELD); n++) { // the keys' lines are chunks of a key
      let i = n * LANES + local;
      share_line(i, i % (DIMS / 8u) / 4u * BLOCK_KEYS + i / (DIMS / 8u), i % (DIMS / 8u) % 4u, held[n]);
    }
    workgroupBarrier();
    if (LOADS_AHEAD) {
      held = load_lines(at + BLOCK, local);
    }
    keep_scores(part, lane);
    workgroupBarrier();
    if (!LOADS_AHEAD) {
      held = load_lines(at + BLOCK, local);
    }
    for (var n = 0u; n < turns(HELD); n++) { // those of values are dimensions
      let i = n * LANES + local;
      share_line(i, i / 4u, i % 4u, held[n]);
    }
    if (LOADS_AHEAD) {
      held = load_lines(select(at, at + args.stride, (block + 1u) * BLOCK_KEYS < seen_keys), local);
    }
    let scale = args.scale * power_of_two(clamp(exponent + exponents.x, -126, 80));
    let is_partly = (block + 1u) * BLOCK_KEYS > seen_of(count, first);
    let factor = weigh(&state, local, block, is_partly, scale, exponents.y);
    if (workgroupUniformLoad(&grown) == block + 1u) {
      scale_rows(part, lane, &out, local, factor);
    }
    add_values(part, lane, &out);
    workgroupBarrier();
  }

  let rate = 1.0 / max(row_total(local, state.total), 1e-37);
  let y0 = (args.y_row + own_row) * args.y_quads + head * head_quads;
  store_rows(part, lane, &out, local, 4u * y0, rate, query < args.queries);
  if (head + 1u == args.heads && query < args.queries) { // the last head also writes the padding after its rows' columns
    for (var quad = head_quads + local % PER_ROW; head * head_quads + quad < args.y_quads; quad += PER_ROW) {
      y[y0 + quad] = vec4f(0.0);
    }
  }
}

// The lane's share of a block's keys, or of its values.
fn load_lines(at: u32, local: u32) -> Lines {
  var lines: Lines;
  for (var n = 0u; n < turns(HELD); n++) {
    lines[n] = kv[at + min(n * LANES + local, BLOCK - 1u)];
  }
  return lines;
}

// Keeps an eighth of a line of keys or values.
fn share_line(i: u32, line: u32, eighth: u32, held: vec4u) {
  if (BLOCK % LANES == 0u || i < BLOCK) {
    let at = line * STRIDE + 2u * eighth;
    ws[at] = half_of(held.xy);
    ws[at + 1u] = half_of(held.zw);
  }
}

// The scores' powers of two: a row's scores times `scale`.
fn shifted_scores(scores: vec4f, scale: f32, shift: f32) -> vec4f {
  return fma(scores, vec4f(scale), vec4f(shift));
}
