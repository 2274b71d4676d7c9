// True guidance by rows: y = g · |positive| / |g| with g = negative + scale · (positive − negative), the lengths those of each row; a
// workgroup per row. Partial sums are added in order on every adapter.
const WORKGROUP = 32u;

struct Args {
  quads: u32,  // quads of columns per row
  scalar: u32, // index of the scale
}

@group(0) @binding(0) var<storage, read> positive: array<vec4f>;
@group(0) @binding(1) var<storage, read> negative: array<vec4f>;
@group(0) @binding(2) var<storage, read> scalars: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

var<workgroup> partial: array<vec2f, WORKGROUP>; // Σ positive², Σ g²

fn guided(i: u32) -> vec4f {
  return mix(negative[i], positive[i], scalars[args.scalar]);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * args.quads;
  var sums = vec2f(0.0);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let p = positive[first + i];
    let g = guided(first + i);
    sums += vec2f(dot(p, p), dot(g, g));
  }
  partial[local] = sums;
  workgroupBarrier();
  sums = vec2f(0.0);
  for (var i = 0u; i < WORKGROUP; i++) {
    sums += partial[i];
  }
  let rate = sqrt(sums.x / max(sums.y, 1e-30));
  for (var i = local; i < args.quads; i += WORKGROUP) {
    y[first + i] = rate * guided(first + i);
  }
}
