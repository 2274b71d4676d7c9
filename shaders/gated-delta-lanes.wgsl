// Gated delta rule like gated-delta.wgsl, for adapters on which a load costs as much as many multiplications: the state stays in the
// slot, is read for each chunk and changed by whole ones, and each lane loads the queries and keys of its own rows, which the others
// get from it. A workgroup is eight lanes, each with four value columns. No barriers and no memory of the workgroup.
enable subgroups;
#import "lib/batch.wgsl"
#import "lib/gated-delta-args.wgsl"
#import "lib/rows.$LANES.wgsl"

const TILES = 1u; // CHUNK / LANES

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32, lanes: Lanes) {
  let head = workgroup.y;
  let sequence = sequences[workgroup.z];
  let slot = sequence.slot * args.state_stride;
  let quad = workgroup.x * 8u + local;
  let column = head * args.value_quads + quad;
  let is_value = quad < args.value_quads;
  let is_padding = head + 1u == args.heads && column < args.y_quads;
  let queries = key_head_of(head) * args.key_quads;
  let keys = queries + args.key_heads * args.key_quads;
  let values = 2u * args.key_heads * args.key_quads + column;
  // Lanes without a column read the first of the slot.
  let step = select(0u, args.value_quads, is_value);
  let state = slot + args.state_first + head * args.key_quads * 4u * step + select(0u, quad, is_value);

  var is_fresh = sequence.cached < CHUNK;
  var first = sequence.first_row;
  let end = first + sequence.rows;
  var kept = sequence.cached % CHUNK;
  while (first < end) {
    let count = min(CHUNK, kept + end - first);
    var mine: array<u32, TILES>; // row of the chunk that this lane loads
    var stored = array<array<vec4f, LANES>, TILES>(); // Sᵀk of each row
    var out = array<array<vec4f, LANES>, TILES>();    // Sᵀq of each row
    for (var t = 0u; t < TILES; t++) {
      mine[t] = t * LANES + lane_row(lanes);
    }
    if (!is_fresh) {
      for (var d = 0u; d < args.key_quads; d++) {
        var s: array<vec4f, 4>;
        for (var c = 0u; c < 4u; c++) {
          s[c] = states[state + (4u * d + c) * step];
        }
        for (var t = 0u; t < TILES; t++) {
          let row = (first + clamp(mine[t], kept, count - 1u) - kept) * args.qkv_quads;
          fold_quad(&stored, t, qkv[row + keys + d], s);
          fold_quad(&out, t, qkv[row + queries + d], s);
        }
      }
    }

    var u = array<vec4f, CHUNK>();
    for (var i = 0u; i < CHUNK; i++) {
      if (i < kept && is_value) {
        u[i] = states[kept_value(slot, i, column)];
      }
      if (i < kept || i >= count) {
        continue;
      }
      let row = first + i - kept;
      let at = row * args.terms + head * TERMS;
      var pairs: array<vec2f, TILES>; // A(i, j) and M(i, j), of a j in each lane
      for (var t = 0u; t < TILES; t++) {
        pairs[t] = terms[at + 2u + min(mine[t], i)];
      }
      let factors = terms[at];
      var value = vec4f(0.0);
      if (is_value) {
        value = factors.y * qkv[row * args.qkv_quads + values];
      }
      value -= factors.x * stored[i / LANES][i % LANES];
      var read = terms[at + 1u].x * out[i / LANES][i % LANES];
      for (var j = 0u; j < CHUNK; j++) {
        if (j < i) {
          let pair = subgroupShuffle(pairs[j / LANES], j % LANES);
          read += pair.x * u[j];
          value -= pair.y * u[j];
        }
      }
      u[i] = value;
      read += subgroupShuffle(pairs[i / LANES], i % LANES).x * value;
      if (is_value || is_padding) {
        y[row * args.y_quads + column] = select(vec4f(0.0), read, is_value);
      }
      if (is_value && count < CHUNK) {
        states[kept_value(slot, i, column)] = value;
      }
    }

    if (count == CHUNK) {
      let last = (first + CHUNK - 1u - kept) * args.terms + head * TERMS;
      let fade = terms[last + 1u].y;
      for (var i = 0u; i < CHUNK; i++) {
        u[i] *= terms[last + 2u + CHUNK + i / 2u][i % 2u];
      }
      for (var d = 0u; d < args.key_quads; d++) {
        var s = array<vec4f, 4>();
        if (!is_fresh) {
          for (var c = 0u; c < 4u; c++) {
            s[c] = fade * states[state + (4u * d + c) * step];
          }
        }
        for (var t = 0u; t < TILES; t++) {
          let k = key_quad(slot, first, kept, mine[t], queries + d);
          for (var i = 0u; i < LANES; i++) {
            let one = subgroupShuffle(k, i);
            s[0] = fma(vec4f(one.x), u[t * LANES + i], s[0]);
            s[1] = fma(vec4f(one.y), u[t * LANES + i], s[1]);
            s[2] = fma(vec4f(one.z), u[t * LANES + i], s[2]);
            s[3] = fma(vec4f(one.w), u[t * LANES + i], s[3]);
          }
        }
        if (is_value) {
          for (var c = 0u; c < 4u; c++) {
            states[state + (4u * d + c) * step] = s[c];
          }
        }
      }
      is_fresh = false;
    }
    first += count - kept;
    kept = 0u;
  }
}
