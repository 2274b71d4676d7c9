// Scalars of the selective scan in chunks (arXiv 2405.21060, the form of products of matrices): for each row and head its step, the logarithm of
// its decay, and the decays from its chunk's beginning and to its end; for each pair of rows i, j of a chunk and each group the product
// C(i)·B(j). A decay over rows i to j is exp of the sum of their logarithms, never a quotient: those of steps that forget at once are zero.
// A workgroup for each place and group of heads.
#import "lib/batch.wgsl"
#import "lib/rolled.wgsl"
#import "lib/selective-scan-chunks.wgsl"
#import "lib/selective-scan-places.wgsl"
#import "lib/selective-scan-steps.wgsl"
#import "lib/softplus.wgsl"

const LANES = 128u;
const LEAST_LOGARITHM = -1000.0; // 32 of them are far from where f32 ends, and one is a decay of zero

struct Args {
  heads: u32,
  groups: u32,      // groups of heads that share B and C
  value_quads: u32, // quads of a head's columns
  state_quads: u32, // quads of B and of C of one group
  x_quads: u32,     // quads from one row of x to the next
  step_stride: u32, // values from one row of steps to the next
  step_first: u32,  // values of a row before the steps
  step_factor: f32, // factor on steps before their offset
  least: f32,       // limits of a step
  most: f32,
  logarithms: u32,  // 1: rates are log(-rate)
}

// [places][heads][CHUNK_ROWS]: logarithm of the decay, step, decay from the chunk's beginning to behind the row, step · decay to the chunk's end
@group(0) @binding(7) var<storage, read_write> terms: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> products: array<f32>; // [places][groups][CHUNK_ROWS of B][CHUNK_ROWS of C]

const QUADS = 8u; // quads of state dims that wait in the workgroup's memory
const STRIDE = QUADS + 1u;
var<workgroup> b: array<vec4f, CHUNK_ROWS * STRIDE>;
var<workgroup> c: array<vec4f, CHUNK_ROWS * STRIDE>;
var<workgroup> logarithms: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let group = workgroup.x;
  let place = workgroup.y;
  let first = chunk_at(place);
  if (first == NO_CHUNK) {
    return;
  }
  let share = args.heads / args.groups;
  let i = local % CHUNK_ROWS;
  for (var base = 0u; base < share; base += LANES / CHUNK_ROWS) {
    let nth = base + local / CHUNK_ROWS;
    let head = group * share + min(nth, share - 1u);
    let own = step_of(first + i, head);
    logarithms[local] = own.x;
    workgroupBarrier();
    let chunk = local - i;
    var before = 0.0;
    for (var k = 0u; k <= i; k++) {
      before += logarithms[chunk + k];
    }
    var behind = 0.0;
    for (var k = CHUNK_ROWS - 1u; k > i; k--) {
      behind += logarithms[chunk + k];
    }
    if (nth < share) {
      terms[(place * args.heads + head) * CHUNK_ROWS + i] = vec4f(own, exp(before), own.y * exp(behind));
    }
    workgroupBarrier();
  }

  // Each lane has one row of B and eight of C.
  let b_first = args.heads * args.value_quads + group * args.state_quads;
  let c_first = b_first + args.groups * args.state_quads;
  let rows_of_c = local / CHUNK_ROWS * 8u;
  var sums = array<f32, 8>();
  for (var base = 0u; base < args.state_quads; base += QUADS) {
    for (var at = local; at < CHUNK_ROWS * QUADS; at += LANES) {
      let quad = base + at % QUADS;
      let row = (first + at / QUADS) * args.x_quads + quad;
      let into = at / QUADS * STRIDE + at % QUADS;
      b[into] = vec4f(0.0);
      c[into] = vec4f(0.0);
      if (quad < args.state_quads) {
        b[into] = x[row + b_first];
        c[into] = x[row + c_first];
      }
    }
    workgroupBarrier();
    for (var quad = loop_start(workgroup.y); quad < QUADS; quad++) {
      let own = b[i * STRIDE + quad];
      for (var r = 0u; r < 8u; r++) {
        sums[r] += dot(own, c[(rows_of_c + r) * STRIDE + quad]);
      }
    }
    workgroupBarrier();
  }
  for (var r = loop_start(workgroup.y); r < 8u; r++) {
    products[((place * args.groups + group) * CHUNK_ROWS + i) * CHUNK_ROWS + rows_of_c + r] = sums[r];
  }
}

// Logarithm of a row's decay, and its step.
fn step_of(row: u32, head: u32) -> vec2f {
  let taken = logarithm_and_step(row, head);
  return vec2f(max(taken.x, LEAST_LOGARITHM), taken.y);
}
