// Normalizes each head of a row and gates it, in place: x / sqrt(mean(x²) + eps) · weight · silu(gate). A workgroup per head and row.
// Partial sums are added in order.
const WORKGROUP = 32u;

struct Args {
  stride: u32,      // quads from one row of x to the next
  head_quads: u32,
  gate_stride: u32, // quads from one row of gates to the next
  gate_first: u32,  // quads before the gates
  gate_run: u32,    // heads whose gates follow each other
  run_stride: u32,  // quads from one such run to the next
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>; // [head dims]
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> gates: array<vec4f>;

var<workgroup> partial: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = workgroup.x;
  let row = workgroup.y;
  let first = row * args.stride + head * args.head_quads;
  var sum = 0.0;
  for (var i = local; i < args.head_quads; i += WORKGROUP) {
    let v = x[first + i];
    sum += dot(v, v);
  }
  partial[local] = sum;
  workgroupBarrier();
  sum = 0.0;
  for (var i = 0u; i < WORKGROUP; i++) {
    sum += partial[i];
  }
  let rate = inverseSqrt(sum / f32(4u * args.head_quads) + args.eps);
  let gate = row * args.gate_stride + args.gate_first + head / args.gate_run * args.run_stride
    + head % args.gate_run * args.head_quads;
  for (var i = local; i < args.head_quads; i += WORKGROUP) {
    let z = gates[gate + i];
    x[first + i] *= rate * weight[i] * z / (1.0 + exp(min(-z, vec4f(80.0))));
  }
}
