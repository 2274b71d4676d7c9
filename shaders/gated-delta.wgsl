// Gated delta rule over the rows of each sequence (arXiv 2412.06464), by the terms of gated-delta-terms.wgsl. The state S [key dims,
// value dims] of a head stays in registers over all chunks of a step. A workgroup has QUADS · 4 value columns, whose states do not
// depend on each other; PARTS lanes share the key dims of a column, and each sums one row of what the parts give.
#import "lib/batch.wgsl"
#import "lib/gated-delta-args.wgsl"

const PARTS = 8u; // CHUNK
const QUADS = 4u;
const HELD = 4u;  // quads of key dims of a lane
const WHOLE = true; // every lane holds as many
const LANES = PARTS * QUADS;
const FILLS_REGISTERS = true;

var<workgroup> sums: array<array<vec4f, 2>, CHUNK * LANES>; // Sᵀk and Sᵀq of each row and lane
var<workgroup> given: array<vec2f, CHUNK * TERMS>;           // terms of the chunk's rows
var<workgroup> written: array<vec4f, CHUNK * QUADS>;         // u of each row

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = workgroup.y;
  let sequence = sequences[workgroup.z];
  let slot = sequence.slot * args.state_stride;
  let part = local / QUADS; // also the row that the lane sums up
  let nth = local % QUADS;
  let quad = workgroup.x * QUADS + nth;
  let column = head * args.value_quads + quad;
  let is_value = quad < args.value_quads;
  let queries = key_head_of(head) * args.key_quads + part * HELD;
  let keys = queries + args.key_heads * args.key_quads;
  let values = 2u * args.key_heads * args.key_quads + column;
  let held = min(HELD, args.key_quads - min(args.key_quads, part * HELD));

  let state = slot + args.state_first + (head * args.key_quads + part * HELD) * 4u * args.value_quads + quad;
  var s = array<mat4x4f, HELD>();
  if (sequence.cached >= CHUNK && is_value) {
    for (var d = 0u; d < HELD; d++) {
      if (WHOLE || d < held) {
        let at = state + 4u * d * args.value_quads;
        s[d] = mat4x4f(
          states[at],
          states[at + args.value_quads],
          states[at + 2u * args.value_quads],
          states[at + 3u * args.value_quads],
        );
      }
    }
  }

  var first = sequence.first_row;
  let end = first + sequence.rows;
  var kept = sequence.cached % CHUNK;
  var is_changed = false;
  while (first < end) {
    let count = min(CHUNK, kept + end - first);
    for (var i = kept; i < count; i++) {
      let row = first + i - kept;
      var read = array<vec4f, 2>();
      for (var d = 0u; d < HELD; d++) {
        if (WHOLE || d < held) {
          read[0] += s[d] * qkv[row * args.qkv_quads + keys + d];
          read[1] += s[d] * qkv[row * args.qkv_quads + queries + d];
        }
      }
      sums[i * LANES + local] = read;
    }
    for (var i = kept * TERMS + local; i < count * TERMS; i += LANES) {
      given[i] = terms[(first + i / TERMS - kept) * args.terms + head * TERMS + i % TERMS];
    }
    workgroupBarrier();

    // A lane per row and quad from here on, but for the sums over u, of which each depends on those before.
    let is_new = part >= kept && part < count;
    let row = first + part - kept;
    var mine = array<vec4f, 2>();
    if (is_new) {
      for (var p = 0u; p < PARTS; p++) {
        mine[0] += sums[part * LANES + p * QUADS + nth][0];
        mine[1] += sums[part * LANES + p * QUADS + nth][1];
      }
    }
    if (is_value && is_new) {
      let factors = given[part * TERMS];
      written[part * QUADS + nth] = factors.y * qkv[row * args.qkv_quads + values] - factors.x * mine[0];
    } else if (is_value && part < kept) {
      written[part * QUADS + nth] = states[kept_value(slot, part, column)];
    }
    workgroupBarrier();
    if (part == 0u) {
      for (var i = max(1u, kept); i < count; i++) {
        var u = written[i * QUADS + nth];
        for (var j = 0u; j < i; j++) {
          u -= given[i * TERMS + 2u + j].y * written[j * QUADS + nth];
        }
        written[i * QUADS + nth] = u;
      }
    }
    workgroupBarrier();

    if (is_new) {
      var out = given[part * TERMS + 1u].x * mine[1];
      for (var j = 0u; j <= part; j++) {
        out += given[part * TERMS + 2u + j].x * written[j * QUADS + nth];
      }
      let is_padding = head + 1u == args.heads && column < args.y_quads;
      if (is_value || is_padding) {
        y[row * args.y_quads + column] = select(vec4f(0.0), out, is_value);
      }
    }
    if (count == CHUNK) {
      is_changed = true;
      let last = (CHUNK - 1u) * TERMS;
      for (var d = 0u; d < HELD; d++) {
        s[d] *= given[last + 1u].y;
      }
      for (var i = 0u; i < CHUNK; i++) {
        let u = given[last + 2u + CHUNK + i / 2u][i % 2u] * written[i * QUADS + nth];
        for (var d = 0u; d < HELD; d++) {
          if (WHOLE || d < held) {
            let k = key_quad(slot, first, kept, i, queries + d);
            s[d] += mat4x4f(k.x * u, k.y * u, k.z * u, k.w * u);
          }
        }
      }
    } else if (is_value && is_new) {
      states[kept_value(slot, part, column)] = written[part * QUADS + nth];
    }
    first += count - kept;
    kept = 0u;
    workgroupBarrier();
  }
  if (is_value && is_changed) {
    for (var d = 0u; d < HELD; d++) {
      if (WHOLE || d < held) {
        let at = state + 4u * d * args.value_quads;
        states[at] = s[d][0];
        states[at + args.value_quads] = s[d][1];
        states[at + 2u * args.value_quads] = s[d][2];
        states[at + 3u * args.value_quads] = s[d][3];
      }
    }
  }
}
