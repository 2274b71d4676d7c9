// y = Σ share · expert output of the row, best expert first, with a bias of all experts if there is one, added to y if ADDS.
#import "lib/expert-share.$SHARE.wgsl"
#import "lib/sum-bias.$BIAS.wgsl"

const WORKGROUP = 32u;
const ADDS = true;

struct Args {
  quads: u32,  // quads of columns per row
  chosen: u32, // experts per row
  stride: u32, // words of shares and `places` from one row to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let row = id.y;
  if (quad >= args.quads) {
    return;
  }
  let last = arrayLength(&x) / args.quads - 1u;
  var sum = vec4f(0.0);
  for (var j = 0u; j < args.chosen; j++) {
    let place = min(places[row * args.stride + j], last); // undefined while kernels are compiled by running them
    sum = fma(vec4f(share_of(row, j)), x[place * args.quads + quad], sum);
  }
  sum = with_bias(sum, quad);
  if (ADDS) {
    sum += y[row * args.quads + quad];
  }
  y[row * args.quads + quad] = sum;
}
