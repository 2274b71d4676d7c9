// A product of one fragment by each subgroup of a workgroup, of small integers, added to itself in memory: whether an adapter's matrix units compute
// what kernels expect.
#import "lib/fragments.$FRAGMENTS.wgsl"
enable f16;

struct Args {
  blocks: u32, // not used
}

@group(0) @binding(0) var<storage, read_write> y: array<f32>; // [subgroup][row][32]: the columns of the fragment, and others
@group(0) @binding(1) var<uniform> args: Args;

const LANES = 128u;
const SUBGROUP = 32u;
const FRAGMENT_ROWS = 16u;
const FRAGMENT_COLUMNS = 16u;
const FRAGMENT_DEPTH = 16u;
const STRIDE = 10u;
const LINES = 32u;
const RESULTS = LANES / SUBGROUP * FRAGMENT_ROWS * 32u;

var<workgroup> xs: array<vec4<f16>, LINES * STRIDE>; // [row][k / 4]
var<workgroup> ws: array<vec4<f16>, LINES * STRIDE>; // [column][k / 4]
var<workgroup> ys: array<f32, RESULTS>;

fn compute_tile(workgroup: vec3u, local: u32, subgroup: u32, lane: u32) {
  for (var i = local; i < LINES * STRIDE; i += LANES) {
    let k = i % STRIDE * 4u + vec4u(0u, 1u, 2u, 3u);
    xs[i] = vec4<f16>(vec4f((i / STRIDE * 7u + k * 3u) % 11u) - 5.0);
    ws[i] = vec4<f16>(vec4f((i / STRIDE * 5u + k * 2u) % 13u) - 6.0);
  }
  workgroupBarrier();
  let begin = subgroup * FRAGMENT_ROWS * 32u;
  var c: Sum;
  c = add_product(c, left_at(0u), right_at(0u), lane);
  keep(begin, c, lane);
  workgroupBarrier();
  c = add_product(kept_at(begin, 32u, lane), left_at(0u), right_at(0u), lane);
  keep(begin, c, lane);
  workgroupBarrier();
  for (var i = local; i < RESULTS; i += LANES) {
    y[i] = ys[i];
  }
}
