// x = x · σ(gate), in place. Gates of a head follow its query.
const WORKGROUP = 32u;

struct Args {
  quads: u32,       // quads of columns of a row of x that belong to heads
  stride: u32,      // quads from one row of x to the next
  head_quads: u32,
  gate_stride: u32, // quads from one row of gates to the next
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> gates: array<vec4f>; // [rows]: query and gate of each head, other columns
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < args.quads) {
    let gate = (2u * (id.x / args.head_quads) + 1u) * args.head_quads + id.x % args.head_quads;
    let z = gates[id.y * args.gate_stride + gate];
    x[id.y * args.stride + id.x] /= 1.0 + exp(min(-z, vec4f(80.0)));
  }
}
