// Mamba-2's selective scan over the rows of each sequence (arXiv 2405.21060): S = fade · S + B ⊗ (step · x), y = Sᵀ C + skip · x. The
// state S [state dims, value dims] of a head stays in registers over all rows of a step, which are computed one after the other and
// summed a chunk at a time, so that a result does not depend on the division into steps. A workgroup has QUADS · 4 columns, whose
// states do not depend on each other; PARTS lanes share the state dims of a column.
#import "lib/batch.wgsl"
#import "lib/selective-scan-args.wgsl"
#import "lib/selective-scan-chunks.wgsl"
#import "lib/softplus.wgsl"

const CHUNK = 4u;  // rows whose sums wait in the workgroup's memory
const PARTS = 8u; // CHUNK or more
const QUADS = 4u;
const HELD = 2u;  // quads of state dims of a lane
const WHOLE = true; // every lane holds as many
const LANES = PARTS * QUADS;
const FILLS_REGISTERS = true;

var<workgroup> sums: array<vec4f, CHUNK * LANES>; // Sᵀ C of each row and lane
var<workgroup> taken: array<vec2f, CHUNK>;        // step_of each row

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = workgroup.y;
  let sequence = sequences[workgroup.z];
  let passed = select(0u, rows_in_chunks(sequence), args.chunked == 1u);
  let part = local / QUADS; // also the row that the lane sums up
  let nth = local % QUADS;
  let quad = workgroup.x * QUADS + nth;
  let column = head * args.value_quads + quad;
  let is_value = quad < args.value_quads;
  let is_padding = head + 1u == args.heads && column < args.y_quads;
  let b = first_b(head) + part * HELD;
  let c = b + args.groups * args.state_quads;
  let held = min(HELD, args.state_quads - min(args.state_quads, part * HELD));

  let of_head = sequence.slot * args.state_stride + args.state_first + head * args.state_quads * 4u * args.value_quads;
  let state = of_head + part * HELD * 4u * args.value_quads + quad;
  var s = array<mat4x4f, HELD>();
  if (sequence.cached + passed > 0u && is_value) {
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

  let end = sequence.first_row + sequence.rows;
  for (var first = sequence.first_row + passed; first < end; first += CHUNK) {
    let count = min(CHUNK, end - first);
    if (local < count) {
      taken[local] = step_of(first + local, head);
    }
    workgroupBarrier();
    for (var i = 0u; i < count; i++) {
      let row = (first + i) * args.x_quads;
      var own = vec4f(0.0);
      if (is_value) {
        own = taken[i].y * x[row + column];
      }
      var read = vec4f(0.0);
      for (var d = 0u; d < HELD; d++) {
        if (WHOLE || d < held) {
          let into = x[row + b + d];
          s[d] = taken[i].x * s[d] + mat4x4f(into.x * own, into.y * own, into.z * own, into.w * own);
          read += s[d] * x[row + c + d];
        }
      }
      sums[i * LANES + local] = read;
    }
    workgroupBarrier();
    if ((is_value || is_padding) && part < count) {
      var sum = vec4f(0.0);
      if (is_value) {
        sum = skips[head] * x[(first + part) * args.x_quads + column];
      }
      for (var p = 0u; p < PARTS; p++) {
        sum += sums[part * LANES + p * QUADS + nth]; // zero in lanes without a column
      }
      y[(first + part) * args.y_quads + column] = sum;
    }
    workgroupBarrier();
  }
  if (is_value) {
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
