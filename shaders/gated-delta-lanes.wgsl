// Gated delta rule like gated-delta.wgsl, for adapters on which a load costs as much as many multiplications: the state stays in the
// slot and is read twice and written once a chunk, and each lane loads the queries and keys of its own rows, which the others get from
// it. A workgroup is eight lanes, each with four value columns. No barriers and no memory of the workgroup.
enable subgroups;
#import "lib/batch.wgsl"
#import "lib/gated-delta-args.wgsl"
#import "lib/rows.$LANES.wgsl"

const CHUNK = 8u;
const TILES = 1u; // CHUNK / LANES
const TERMS = 2u + CHUNK;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32, lanes: Lanes) {
  let head = workgroup.y;
  let sequence = sequences[workgroup.z];
  let quad = workgroup.x * 8u + local;
  let column = head * args.value_quads + quad;
  let is_value = quad < args.value_quads;
  let is_padding = head + 1u == args.heads && column < args.y_quads;
  let queries = key_head_of(head) * args.key_quads;
  let keys = queries + args.key_heads * args.key_quads;
  let values = 2u * args.key_heads * args.key_quads + column;
  // Lanes without a column read the first of the slot.
  let step = select(0u, args.value_quads, is_value);
  let state = sequence.slot * args.state_stride + args.state_first + head * args.key_quads * 4u * step + select(0u, quad, is_value);

  var is_fresh = sequence.cached == 0u;
  let end = sequence.first_row + sequence.rows;
  var count = min(CHUNK - sequence.cached % CHUNK, sequence.rows);
  for (var first = sequence.first_row; first < end; first += count) {
    count = min(CHUNK - (sequence.cached + first - sequence.first_row) % CHUNK, end - first);
    var mine: array<u32, TILES>; // row of this lane
    for (var t = 0u; t < TILES; t++) {
      mine[t] = first + min(t * LANES + lane_row(lanes), count - 1u);
    }
    var stored = array<array<vec4f, LANES>, TILES>(); // Sᵀk of each row
    var out = array<array<vec4f, LANES>, TILES>();    // Sᵀq of each row
    if (!is_fresh) {
      for (var d = 0u; d < args.key_quads; d++) {
        var s: array<vec4f, 4>;
        for (var c = 0u; c < 4u; c++) {
          s[c] = states[state + (4u * d + c) * step];
        }
        for (var t = 0u; t < TILES; t++) {
          fold_quad(&stored[t], qkv[mine[t] * args.qkv_quads + keys + d], s);
          fold_quad(&out[t], qkv[mine[t] * args.qkv_quads + queries + d], s);
        }
      }
    }

    var u = array<vec4f, CHUNK>();
    var fade = 1.0;
    for (var i = 0u; i < CHUNK; i++) {
      if (i >= count) {
        continue;
      }
      let row = first + i;
      let at = row * args.terms + head * TERMS;
      var pairs: array<vec2f, TILES>; // A(i, j) and M(i, j), of a j in each lane
      for (var t = 0u; t < TILES; t++) {
        pairs[t] = terms[at + 2u + min(t * LANES + lane_row(lanes), i)];
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
      let own = subgroupShuffle(pairs[i / LANES], i % LANES);
      u[i] = value;
      fade = own.y;
      if (is_value || is_padding) {
        y[row * args.y_quads + column] = select(vec4f(0.0), read + own.x * value, is_value);
      }
    }
    for (var i = 0u; i < CHUNK; i++) {
      if (i < count) {
        u[i] *= terms[(first + i) * args.terms + head * TERMS + 1u].y;
      }
    }

    for (var d = 0u; d < args.key_quads; d++) {
      var s = array<vec4f, 4>();
      if (!is_fresh) {
        for (var c = 0u; c < 4u; c++) {
          s[c] = fade * states[state + (4u * d + c) * step];
        }
      }
      for (var t = 0u; t < TILES; t++) {
        let k = qkv[mine[t] * args.qkv_quads + keys + d];
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
}
