// True guidance by lines: y = g · |positive| / |g| with g = negative + scale · (positive − negative), the lengths those of each line; a
// workgroup per line of quads. Partial sums are added in order on every adapter.
//   SQUARES row:  the four lanes of the quads are one line, such as a row
//   SQUARES lane: each of them is a line by itself, such as a channel of an image along its width
#import "lib/squares.$SQUARES.wgsl"

const WORKGROUP = 32u;

struct Args {
  quads: u32,  // quads of a line
  step: u32,   // distance of the quads of a line, and number of lines beside each other
  scalar: u32, // index of the scale
}

@group(0) @binding(0) var<storage, read> positive: array<vec4f>;
@group(0) @binding(1) var<storage, read> negative: array<vec4f>;
@group(0) @binding(2) var<storage, read> scalars: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

var<workgroup> wanted: array<Squares, WORKGROUP>; // Σ positive²
var<workgroup> found: array<Squares, WORKGROUP>;  // Σ g²

fn guided(i: u32) -> vec4f {
  return mix(negative[i], positive[i], scalars[args.scalar]);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x / args.step * args.step * args.quads + workgroup.x % args.step;
  var p = Squares(0.0);
  var g = Squares(0.0);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let at = first + i * args.step;
    p += squares(positive[at]);
    g += squares(guided(at));
  }
  wanted[local] = p;
  found[local] = g;
  workgroupBarrier();
  p = Squares(0.0);
  g = Squares(0.0);
  for (var i = 0u; i < WORKGROUP; i++) {
    p += wanted[i];
    g += found[i];
  }
  let rate = sqrt(p / max(g, Squares(1e-30)));
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let at = first + i * args.step;
    y[at] = rate * guided(at);
  }
}
