// States of the selective scan before each chunk of a sequence: S [state dims, value dims] of a head becomes decay · S + Σ B(j) ⊗ (w(j) · x(j))
// behind a chunk, a product of matrices over its rows j. A workgroup has 32 state dims and 64 value dims, whose states stay in registers over
// all chunks of a step. Terms are those of selective-scan-terms.wgsl.
#import "lib/batch.wgsl"
#import "lib/selective-scan-chunks.wgsl"
#import "lib/tile-32x64.wgsl"

const FILLS_REGISTERS = true;

struct Args {
  heads: u32,
  groups: u32,       // groups of heads that share B and C
  value_quads: u32,  // quads of a head's columns
  state_quads: u32,  // quads of B and of C of one group
  x_quads: u32,      // quads from one row of x to the next
  state_first: u32,  // quads of a slot before the states of the heads
  state_stride: u32, // quads of a slot
  column_tiles: u32, // tiles of a head's columns
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>; // columns of all heads, B of all groups, C of all
@group(0) @binding(1) var<storage, read> terms: array<vec4f>; // [places][heads][CHUNK_ROWS]
@group(0) @binding(2) var<storage, read_write> before: array<vec4f>; // [places][heads][state dims][value quads]: states before chunks
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4f>; // [slots]: [heads][state dims][value quads]

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = workgroup.y;
  let sequence = sequences[workgroup.z];
  let end = sequence.first_row + rows_in_chunks(sequence);
  let state_tile = workgroup.x / args.column_tiles * LEFT;
  let column_tile = workgroup.x % args.column_tiles * RIGHT;
  let quad = column_tile + local % RIGHT;
  let of_dims = state_tile + local / RIGHT; // quad of state dims
  let is_held = quad < args.value_quads && of_dims < args.state_quads;
  let b_first = args.heads * args.value_quads + head / (args.heads / args.groups) * args.state_quads + state_tile;

  let of_head = head * args.state_quads * 4u * args.value_quads;
  let own = 4u * of_dims * args.value_quads + quad;
  let slot = sequence.slot * args.state_stride + args.state_first + of_head + own;
  var s = mat4x4f();
  if (sequence.cached > 0u && is_held) {
    for (var n = loop_start(workgroup.y); n < 4u; n++) {
      s[n] = states[slot + n * args.value_quads];
    }
  }
  for (var first = sequence.first_row; first < end; first += CHUNK_ROWS) {
    let place = first / CHUNK_ROWS;
    let of_place = (place * args.heads + head) * CHUNK_ROWS;
    if (is_held) {
      let at = place * args.heads * args.state_quads * 4u * args.value_quads + of_head + own;
      for (var n = loop_start(workgroup.y); n < 4u; n++) {
        before[at + n * args.value_quads] = s[n];
      }
    }
    for (var at = local; at < CHUNK_ROWS * LEFT; at += LANES) {
      left[at] = vec4f(0.0);
      if (state_tile + at % LEFT < args.state_quads) {
        left[at] = x[(first + at / LEFT) * args.x_quads + b_first + at % LEFT];
      }
    }
    for (var at = local; at < CHUNK_ROWS * RIGHT; at += LANES) {
      right[at] = vec4f(0.0);
      let column = column_tile + at % RIGHT;
      if (column < args.value_quads) {
        let row = (first + at / RIGHT) * args.x_quads + head * args.value_quads;
        right[at] = terms[of_place + at / RIGHT].w * x[row + column];
      }
    }
    workgroupBarrier();
    s = add_products(terms[of_place + CHUNK_ROWS - 1u].z * s, local, loop_start(workgroup.y));
    workgroupBarrier();
  }
  if (end > sequence.first_row && is_held) {
    for (var n = loop_start(workgroup.y); n < 4u; n++) {
      states[slot + n * args.value_quads] = s[n];
    }
  }
}
