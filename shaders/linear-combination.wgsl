// y = Σ coefficient · x over up to five terms, added to y when it continues a longer sum. Raises a flag if a result is not finite;
// it tests bits, because compilers may assume that infinities and NaN do not occur.
const TERMS = 2u;
const CONTINUES = false;
const WORKGROUP = 64u;

struct Args {
  quads: u32,
  first: u32,   // index of x0's coefficient
}

@group(0) @binding(0) var<storage, read> x0: array<vec4f>;
@group(0) @binding(1) var<storage, read> x1: array<vec4f>;
@group(0) @binding(2) var<storage, read> x2: array<vec4f>;
@group(0) @binding(3) var<storage, read> x3: array<vec4f>;
@group(0) @binding(4) var<storage, read> x4: array<vec4f>;
@group(0) @binding(5) var<storage, read> coefficients: array<f32>;
@group(0) @binding(6) var<uniform> args: Args;
@group(0) @binding(7) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> not_finite: array<atomic<u32>>;

fn plus(sum: vec4f, term: u32, x: vec4f) -> vec4f {
  return fma(vec4f(coefficients[args.first + term]), x, sum);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.quads; i += workgroups.x * WORKGROUP) {
    var sum = vec4f(0.0);
    if (CONTINUES) {
      sum = y[i];
    }
    sum = plus(sum, 0u, x0[i]);
    if (TERMS > 1u) {
      sum = plus(sum, 1u, x1[i]);
    }
    if (TERMS > 2u) {
      sum = plus(sum, 2u, x2[i]);
    }
    if (TERMS > 3u) {
      sum = plus(sum, 3u, x3[i]);
    }
    if (TERMS > 4u) {
      sum = plus(sum, 4u, x4[i]);
    }
    if (any((bitcast<vec4u>(sum) & vec4u(0x7f800000u)) == vec4u(0x7f800000u))) {
      atomicStore(&not_finite[0], 1u);
    }
    y[i] = sum;
  }
}
