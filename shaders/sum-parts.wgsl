// y = Σ parts, by one workgroup.
const WORKGROUP = 64u;

struct Args {
  count: u32,
}

@group(0) @binding(0) var<storage, read> parts: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

var<workgroup> sums: array<vec4f, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  var sum = vec4f(0.0);
  for (var i = local; i < args.count; i += WORKGROUP) {
    sum += parts[i];
  }
  sums[local] = sum;
  for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      sums[local] += sums[local + half];
    }
  }
  if (local == 0u) {
    y[0] = sums[0];
  }
}
