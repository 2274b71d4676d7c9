// Gates groups of a row's columns by silu and normalizes them, in place: v / sqrt(mean(v²) + eps) · weight with v = x · silu(gate), or the norm
// of x before its gate. A workgroup per group and row. Sums are added in an order that follows from LANES alone.
const LANES = 32u;
const SHARES = 16u; // sums of lanes that are added up before the last
const NORMED = true;
const GATE_FIRST = true;

struct Args {
  stride: u32,      // quads from one row of x to the next
  group_quads: u32,
  gate_stride: u32, // quads from one row of gates to the next
  gate_first: u32,  // quads before the gates
  gate_factor: f32, // factor on gates
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>; // [columns]; unused without a norm
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> gates: array<vec4f>;

var<workgroup> partial: array<f32, LANES>;
var<workgroup> shares: array<f32, SHARES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let column = workgroup.x * args.group_quads;
  let first = workgroup.y * args.stride + column;
  let gate = workgroup.y * args.gate_stride + args.gate_first + column;
  var rate = 1.0;
  if (NORMED) {
    var sum = 0.0;
    for (var i = local; i < args.group_quads; i += LANES) {
      let v = x[first + i] * select(vec4f(1.0), silu(gate + i), GATE_FIRST);
      sum += dot(v, v);
    }
    rate = inverseSqrt(sum_of_lanes(sum, local) / f32(4u * args.group_quads) + args.eps);
  }
  for (var i = local; i < args.group_quads; i += LANES) {
    x[first + i] *= rate * weight_of(column + i) * silu(gate + i);
  }
}

// Clamped, because exp overflows f32 far below zero.
fn silu(at: u32) -> vec4f {
  let z = args.gate_factor * gates[at];
  return z / (1.0 + exp(min(-z, vec4f(80.0))));
}

fn weight_of(column: u32) -> vec4f {
  if (NORMED) {
    return weight[column];
  }
  return vec4f(1.0);
}

fn sum_of_lanes(value: f32, local: u32) -> f32 {
  partial[local] = value;
  workgroupBarrier();
  if (local < SHARES) {
    var sum = 0.0;
    for (var i = local; i < LANES; i += SHARES) {
      sum += partial[i];
    }
    shares[local] = sum;
  }
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < SHARES; i++) {
    sum += shares[i];
  }
  return sum;
}
