// Brings a guided prediction y nearer to the conditional one it was made from, in place; one workgroup for each item.
//   SPREAD: y · (share · σ(positive) / σ(y) + 1 − share), the standard deviation over all values
//   otherwise: y shortened to `share` times the length of the conditional one, where it is longer
const SPREAD = true;
const WORKGROUP = 128u;

struct Args {
  quads: u32,     // quads of an item's prediction
  first: u32,     // first quad of the conditional predictions in x
  values: u32,    // values of an item without padding
  share: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

var<workgroup> partial: array<vec4f, WORKGROUP>; // Σ positive, Σ positive², Σ y, Σ y²

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  let item = id.x * args.quads;
  var sums = vec4f(0.0);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let p = x[args.first + item + i];
    let g = y[item + i];
    sums += vec4f(dot(p, vec4f(1.0)), dot(p, p), dot(g, vec4f(1.0)), dot(g, g));
  }
  partial[local] = sums;
  workgroupBarrier();
  sums = vec4f(0.0);
  for (var i = 0u; i < WORKGROUP; i++) {
    sums += partial[i];
  }
  let count = f32(args.values);
  var scale = 1.0;
  if (SPREAD) {
    let wanted = (sums.y - sums.x * sums.x / count) / max(count - 1.0, 1.0);
    let found = (sums.w - sums.z * sums.z / count) / max(count - 1.0, 1.0);
    scale = args.share * sqrt(max(wanted, 0.0) / max(found, 1e-30)) + 1.0 - args.share;
  } else {
    scale = min(1.0, args.share * sqrt(sums.y / max(sums.w, 1e-30)));
  }
  for (var i = local; i < args.quads; i += WORKGROUP) {
    y[item + i] *= scale;
  }
}
